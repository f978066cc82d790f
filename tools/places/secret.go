package places

import "regexp"

// processes matches what the kernel tells of a process (its environment, memory,
// open files) and of the machine's memory. Read by Perch itself, it would be
// Perch's own. It is no entry of the list below: those are left out of what a
// command is granted, and a command needs /proc, where the kernel shows it only
// its own.
var processes = regexp.MustCompile(`^/proc/(\d+|kcore|kmsg|vmcore)(/|$)`)

// homeSecrets are the places below the home folder that hold keys, passwords,
// sign-ins or what a person typed: secret shells and key rings, browser profiles
// and mail, cloud and package credentials, shell histories. Files and folders
// alike; what is below a folder belongs to it.
var homeSecrets = []string{
	// Keys and key rings.
	".ssh", ".gnupg", ".pki", ".password-store", ".age", ".config/sops", ".config/age", ".vault-token",
	".local/share/keyrings", ".gnome2/keyrings", ".local/share/kwalletd", ".kde/share/apps/kwallet", ".kde4/share/apps/kwallet",
	".config/keepassxc", ".config/KeePass", ".config/Bitwarden", ".config/Bitwarden CLI", ".config/1Password", ".config/op", ".config/keybase",
	".local/share/password-store", ".Xauthority", ".ICEauthority",
	// Cloud and services.
	".aws", ".azure", ".config/gcloud", ".kube", ".docker/config.json", ".config/containers/auth.json", ".oci", ".s3cfg", ".boto", ".mc",
	".config/rclone", ".config/doctl", ".config/hcloud", ".config/linode-cli", ".fly", ".netlify", ".config/netlify", ".config/heroku",
	".terraform.d/credentials.tfrc.json", ".terraformrc", ".databrickscfg", ".snowsql", ".config/stripe", ".config/ngrok", ".ngrok2",
	".local/share/com.vercel.cli", ".config/wrangler", ".wrangler", ".ibmcloud", ".config/fly",
	// Code hosts and package registries.
	".netrc", "_netrc", ".authinfo", ".authinfo.gpg", ".git-credentials", ".config/git/credentials", ".config/gh", ".config/hub", ".config/glab-cli",
	".npmrc", ".yarnrc.yml", ".pypirc", ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".m2/settings.xml", ".m2/settings-security.xml",
	".gradle/gradle.properties", ".nuget/NuGet/NuGet.Config", ".composer/auth.json", ".config/composer/auth.json", ".bundle/config", ".huggingface/token",
	".cache/huggingface/token", ".config/github-copilot", ".config/pypoetry/auth.toml",
	// Databases.
	".pgpass", ".my.cnf", ".mylogin.cnf", ".dbshell", ".config/mongodb",
	// Browsers, mail, messengers.
	".mozilla", ".config/mozilla", ".config/google-chrome", ".config/google-chrome-beta", ".config/chromium", ".config/BraveSoftware", ".config/vivaldi",
	".config/opera", ".config/microsoft-edge", ".config/qutebrowser", ".local/share/qutebrowser", ".librewolf", ".waterfox", ".config/falkon",
	".cache/mozilla", ".cache/google-chrome", ".cache/chromium", ".cache/BraveSoftware", ".cache/microsoft-edge",
	"snap/firefox", "snap/chromium", ".var/app", ".thunderbird", "snap/thunderbird", ".config/evolution", ".local/share/evolution", ".config/geary",
	".mutt", ".muttrc", ".msmtprc", ".fetchmailrc", ".config/neomutt", ".config/aerc",
	".config/Signal", ".config/Slack", ".config/discord", ".config/Element", ".purple", ".local/share/TelegramDesktop", ".config/teams-for-linux", ".weechat", ".config/weechat", ".irssi",
	// Wallets.
	".bitcoin", ".electrum", ".ethereum", ".config/solana", ".monero", ".bitmonero",
	// What a person typed.
	".bash_history", ".zsh_history", ".zhistory", ".histfile", ".sh_history", ".python_history", ".node_repl_history", ".psql_history", ".mysql_history",
	".sqlite_history", ".rediscli_history", ".local/share/fish/fish_history", ".local/share/atuin", ".lesshst", ".local/state/bash", ".local/share/recently-used.xbel",
	// Other assistants' sign-ins.
	".codex/auth.json", ".claude/.credentials.json", ".claude.json", ".config/io.datasette.llm", ".config/github-copilot-cli",
	// macOS and Windows.
	"Library/Keychains", "Library/Application Support/Google/Chrome", "Library/Application Support/Firefox", "Library/Safari", "Library/Mail", "Library/Messages", "Library/Cookies",
	"AppData/Roaming/Mozilla", "AppData/Local/Google/Chrome", "AppData/Local/Microsoft/Edge", "AppData/Local/Microsoft/Credentials", "AppData/Roaming/Microsoft/Credentials",
	"AppData/Roaming/Microsoft/Protect", "AppData/Roaming/Microsoft/Crypto", "AppData/Roaming/gnupg", "AppData/Roaming/Thunderbird",
}

// systemSecrets are secret places outside any home folder. Most are closed to an
// ordinary user already; a program that runs as root would see them.
var systemSecrets = []string{
	"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d", "/etc/ssl/private", "/etc/ssh/ssh_host_rsa_key",
	"/etc/ssh/ssh_host_ecdsa_key", "/etc/ssh/ssh_host_ed25519_key", "/etc/NetworkManager/system-connections", "/etc/wireguard", "/etc/openvpn",
	"/var/lib/NetworkManager/secret_key", "/var/spool/cron", "/var/spool/mail", "/var/mail", "/var/lib/sss/secrets", "/etc/krb5.keytab",
}
