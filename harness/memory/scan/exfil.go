package scan

import (
	"regexp"
	"strings"
)

// What the parts of a command that carries data out look like.
var (
	// sender are programs and functions that send.
	sender = regexp.MustCompile(`\b(?:curl|wget|nc|ncat|netcat|socat|telnet|scp|rsync|sftp|ftp|tftp|http|https|xh|iwr|irm|invoke-webrequest|invoke-restmethod|start-bitstransfer|certutil|bitsadmin|sendmail|mailx?|mutt|nslookup|dig|host|openssl\s+s_client|requests?\.(?:post|get|put)|urllib|urlopen|httpx\.|fetch\(|axios|xmlhttprequest|navigator\.sendbeacon|net\.webclient|uploadstring|downloadstring|aws\s+s3|gsutil|rclone|gh\s+gist)(?:\b|\s|$)`)
	// senderWords are in every match of sender; looking for them is cheap.
	senderWords = []string{"curl", "wget", "nc ", "ncat", "netcat", "socat", "telnet", "scp ", "rsync", "ftp", "http", "xh ", "iwr", "irm", "invoke-", "bits", "certutil", "sendmail", "mail", "mutt", "nslookup", "dig ", "host", "openssl", "request", "urllib", "urlopen", "fetch(", "axios", "sendbeacon", "webclient", "string", "aws", "gsutil", "rclone", "gist"}
	// secretSource are places and names of secrets.
	secretSource = regexp.MustCompile(`\$\{?\(?\s*(?:env:)?[a-z_]*(?:key|token|secret|passw|credential|auth|api)[a-z_]*|\bid_(?:rsa|ed25519|ecdsa|dsa)\b|\.ssh\b|\.aws\b|\.gnupg\b|\.netrc\b|\.pgpass\b|\.git-credentials\b|\.kube/config|\.docker/config|\.npmrc\b|\.env\b|/etc/(?:passwd|shadow|sudoers)|\bprintenv\b|(?:^|[\s|;&$(` + "`" + `])env\s*(?:\||>|\)|` + "`" + `)|authorized_keys|\bkeychain\b|\bkeyring\b|secret-tool|login\.keychain|cookies\.sqlite|login data|wallet\.dat|\.bash_history|\.zsh_history|\bhistory\s*\||process\.env|os\.environ|/proc/self/environ|credentials\b|master\.key|\.pem\b|shadow\b|\.config/perch|control\.token|sessions\.db`)
	// piped is output sent into a network program.
	piped = regexp.MustCompile(`\|\s*(?:sudo\s+)?(?:nc|ncat|netcat|socat|telnet|curl[^|\n]*(?:-d|--data|--data-binary|--data-raw|-t|--upload-file|-f|--form)|openssl\s+s_client|wget[^|\n]*--post)`)
	// substituted is a command's output inside a sent address or body.
	substituted = regexp.MustCompile(`\b(?:curl|wget|nslookup|dig|ping|host|iwr|irm|invoke-webrequest)\b[^\n]*(?:\$\(|` + "`" + `[^` + "`" + `\n]+` + "`" + `)`)
	// planted is something written where it will be run or trusted later.
	planted = regexp.MustCompile(`>>?\s*~?/?[^\s]*(?:authorized_keys|\.bashrc|\.zshrc|\.profile|crontab|/etc/(?:passwd|sudoers|cron))`)
	reverse = regexp.MustCompile(`/dev/(?:tcp|udp)/|\b(?:nc|ncat|netcat)\b[^\n]*\s-[a-z]*e\b|bash\s+-i\s*>&|mkfifo\s+/tmp`)

	image    = regexp.MustCompile(`(?i)!\[[^\]\n]*\]\(\s*<?\s*((?:https?:)?//[^)\s>]+)`)
	imageRef = regexp.MustCompile(`(?im)!\[[^\]\n]*\]\[([^\]\n]*)\]`)
	refDef   = regexp.MustCompile(`(?im)^\s*\[[^\]\n]+\]:\s*<?((?:https?:)?//\S+)`)
	htmlImg  = regexp.MustCompile(`(?i)<(?:img|iframe|script|link|image|object|embed|video|audio|source)\b[^>\n]*(?:src|href|data)\s*=\s*["']?\s*((?:https?:)?//[^"'\s>]+)`)
	link     = regexp.MustCompile(`(?i)\]\(\s*<?\s*((?:https?:)?//[^)\n>]+)`)
	// place is where something is to be put into an address.
	place = regexp.MustCompile(`(?i:\{|<[a-z_ ]+>?|\[[a-z_ ]+\]?|%7b|\$\{?[a-z_]+|\$\()|\b(?:[A-Z]{3,}(?:_[A-Z]+)*)\b`)
	// carrier are query keys that carry text out.
	carrier = regexp.MustCompile(`(?i)[?&;](?:d|data|q|query|c|s|t|m|p|x|msg|payload|text|content|info|secret|token|key|apikey|api_key|history|chat|conv|conversation|prompt|log|leak|exfil|steal|memory|mem|summary|user|email|pass|password|cookie|cookies|context|session|sess|b64|base64|enc|out|v|value|body|note|notes|stolen|dump)=`)
	plain   = regexp.MustCompile(`(?i)^(?:https?:)?//(?:localhost|127\.0\.0\.1|\[::1\]|192\.168\.|10\.)`)
	dest    = regexp.MustCompile(`https?://|ftp://|\b[a-z0-9._%+-]+@[a-z0-9-]+\.[a-z]{2,}\b|\b[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:com|net|org|io|xyz|ru|cn|top|site|example|evil|tk|info|dev|app|me|co)\b|\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b`)
)

// exfil finds commands and images that would carry data out.
func exfil(raw string, t *text) *Finding {
	if strings.Contains(raw, "](") || strings.Contains(raw, "][") || strings.Contains(raw, "<") {
		if f := images(raw, t); f != nil {
			return f
		}
	}
	s := strings.ReplaceAll(t.s, "\\\n", " ")
	find := func(m []int) *Finding {
		if m == nil {
			return nil
		}
		return &Finding{Exfil, excerpt(s[m[0]:min(len(s), m[1]+40)])}
	}
	if containsAny(s, "/dev/", "nc ", "ncat ", "netcat ", ">&", "mkfifo") {
		if m := reverse.FindStringIndex(s); m != nil {
			return find(m)
		}
	}
	if !strings.ContainsAny(s, ">|$/@:`(.") {
		return nil // no command
	}
	if m := planting(s); m != nil && (strings.Contains(s[m[0]:m[1]], "authorized_keys") || dest.MatchString(s)) {
		return find(m)
	}
	// Sender and secret must stand in one command or sentence.
	for _, line := range statements(s) {
		if !containsAny(line, senderWords...) {
			continue
		}
		m := sender.FindStringIndex(line)
		if m == nil {
			continue
		}
		if piped.MatchString(line) || substituted.MatchString(line) && !plain.MatchString(address(line)) {
			return &Finding{Exfil, excerpt(line[m[0]:])}
		}
		if secretSource.MatchString(line) && command(line) && !ownUse(line) {
			return &Finding{Exfil, excerpt(line[m[0]:])}
		}
	}
	return nil
}

func planting(s string) []int {
	if !strings.Contains(s, ">") {
		return nil
	}
	return planted.FindStringIndex(s)
}

// statements divides a text where commands and sentences end.
func statements(s string) []string {
	var out []string
	from := 0
	for i := 0; i < len(s); i++ {
		if s[i] == '\n' || s[i] == '.' && i+2 < len(s) && s[i+1] == ' ' && (i == 0 || s[i-1] != '/') {
			out = append(out, s[from:i])
			from = i + 1
		}
	}
	return append(out, s[from:])
}

// flags are arguments that make a line a command rather than a sentence.
var flags = regexp.MustCompile(`\s--?[a-z]|https?://|://|\||<|>|\$|@|\(|\b\d{1,3}(?:\.\d{1,3}){3}\b|:[~/]|\b[a-z0-9-]+\.[a-z]{2,}\b`)

func command(line string) bool { return flags.MatchString(line) }

// ownUse reports whether a key goes where it belongs, in a header of a request
// to an address of this machine or a documented interface.
func ownUse(line string) bool {
	a := address(line)
	if a == "" {
		return false
	}
	return plain.MatchString(a)
}

var anyAddress = regexp.MustCompile(`(?:https?:)?//[^\s"'` + "`" + `)>]+`)

func address(line string) string { return anyAddress.FindString(line) }

// images finds pictures whose address would carry text out when it is shown.
func images(raw string, t *text) *Finding {
	var urls []string
	for _, re := range []*regexp.Regexp{image, htmlImg} {
		for _, m := range re.FindAllStringSubmatch(raw, -1) {
			urls = append(urls, m[1])
		}
	}
	if imageRef.MatchString(raw) {
		for _, m := range refDef.FindAllStringSubmatch(raw, -1) {
			urls = append(urls, m[1])
		}
	}
	for _, u := range urls {
		if plain.MatchString(u) {
			continue
		}
		query := carrier.MatchString(u)
		if query || place.MatchString(rest(u)) || strings.HasSuffix(u, "=") {
			return &Finding{Exfil, excerpt(u)}
		}
	}
	for _, m := range link.FindAllStringSubmatch(raw, -1) {
		// A link is followed by a person, who sees where it leads; only one that
		// waits for something to be put in is refused.
		if carrier.MatchString(m[1]) && strings.ContainsAny(m[1], "{}[]$<") {
			return &Finding{Exfil, excerpt(m[1])}
		}
	}
	if len(urls) > 0 || strings.Contains(raw, "![") {
		// "Append the conversation to ![](…)".
		for i := range t.words {
			if t.words[i].role&roleSecret != 0 {
				return &Finding{Exfil, excerpt(raw)}
			}
		}
	}
	return nil
}

// rest is an address behind its host.
func rest(u string) string {
	u = strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(u, "https:"), "http:"), "//")
	if i := strings.IndexByte(u, '/'); i >= 0 {
		return u[i:]
	}
	return u
}

// sendSecret: "send the user's passwords to http://…".
func sendSecret(t *text, i int) int {
	if !t.orders(i) && !(i > 0 && t.words[i-1].role&(roleMust|roleLead) != 0) {
		return 0
	}
	for k := i - 1; k >= 0 && k >= i-3 && !t.words[k+1].start; k-- {
		if t.words[k].role&roleNot != 0 {
			return 0
		}
	}
	secret := false
	// "When you see a password, send it to …".
	if i+1 < len(t.words) && t.words[i+1].role&roleThis != 0 {
		for k := i - 1; k >= 0 && k >= i-reach; k-- {
			secret = secret || t.words[k].role&roleSecret != 0
			if t.words[k].start {
				break
			}
		}
	}
	// To put a key into an address is also how an interface is used.
	var attach, own bool
	switch t.words[i].text {
	case "include", "append", "embed", "insert", "attach":
		attach = true
	}
	for k := i + 1; k < len(t.words) && k <= i+22; k++ {
		w := &t.words[k]
		if k > i+1 && w.start && sentenceBreak(t.s[min(t.words[k-1].to, w.from):w.from]) {
			break
		}
		own = own || w.role&(roleUser|roleYour) != 0
		if k <= i+10 && w.role&roleSecret != 0 && (!attach || own) {
			secret = true
		}
		if secret && (words().sets["dest"][w.text] || strings.HasPrefix(w.text, "attacker") || strings.HasPrefix(w.text, "webhook")) {
			return k + 1
		}
	}
	if secret {
		from := t.words[i].from
		end := min(len(t.s), from+300)
		if m := dest.FindStringIndex(t.s[from:end]); m != nil && !strings.ContainsAny(t.s[from:from+m[0]], "\n") {
			return min(i+12, len(t.words))
		}
	}
	return 0
}

func sentenceBreak(s string) bool {
	return strings.Contains(s, ". ") || strings.ContainsAny(s, "\n!?。！？")
}
