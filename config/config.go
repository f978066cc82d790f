// Package config holds Perch's settings and the places where it keeps its files.
//
// Settings are one file that a person can edit, config.toml. [Load] reports a
// mistake in it with its line; [Watch] keeps the last good settings when a
// change has one. [Paths] says where everything lives; PERCH_HOME puts all of
// it under one folder.
package config

// Config is the content of config.toml, with defaults filled in.
type Config struct {
	Model      string `toml:"model"` // "provider/model", a bare model name, or "" for the first start's order (SPEC: first start without a key)
	Hotkey     string `toml:"hotkey"`
	WorkingDir string `toml:"working_dir"`
	// Language of the interface: "", "en", "de", "ru" or "zh"; "" follows the locale.
	Language string `toml:"language"`

	Context   Context             `toml:"context"`
	Limits    Limits              `toml:"limits"`
	Popup     Popup               `toml:"popup"`
	Notify    Notify              `toml:"notify"`
	Providers map[string]Provider `toml:"providers"`
	Embedding Embedding           `toml:"embedding"`
	Image     Image               `toml:"image"`
	KB        KB                  `toml:"kb"`
	Web       Web                 `toml:"web"`
	Sandbox   Sandbox             `toml:"sandbox"`
	// Connectors are MCP servers by name; their tools appear as name__tool.
	Connectors map[string]Connector `toml:"connectors"`
	// Tools are per-tool settings by tool name.
	Tools map[string]Tool `toml:"tools"`
	// Prompts are the user's own prompt actions on the selected text, in order.
	Prompts []Prompt `toml:"prompts"`
	Log     Log      `toml:"log"`
}

// Context are the settings of compaction.
type Context struct {
	CompactAt float64 `toml:"compact_at"` // share of the window, default 0.6
}

// Limits bound a run.
type Limits struct {
	Retries     int     `toml:"retries"`      // a model call, all kinds together; default 5
	Rounds      int     `toml:"rounds"`       // tool rounds a run; default 100
	CostPerRun  float64 `toml:"cost_per_run"` // US dollars; 0 is off
	CostPerDay  float64 `toml:"cost_per_day"` // US dollars; 0 is off
	Concurrency int     `toml:"concurrency"`  // sessions that may run at once; default 4
}

// Popup are the settings of the popup.
type Popup struct {
	ResumeMinutes int     `toml:"resume_minutes"` // the hotkey shows the last session if used within; default 30
	Theme         string  `toml:"theme"`          // "", "light", "dark"; "" follows the system
	TextScale     float64 `toml:"text_scale"`     // default 1
	Pinned        bool    `toml:"pinned"`
}

// Notify are the settings of notifications.
type Notify struct {
	Off          bool `toml:"off"`
	AfterSeconds int  `toml:"after_seconds"` // a run longer than this is announced; default 10
}

// Provider is one entry of [providers.NAME]. Well-known names have built-in
// defaults, which the fields given here override.
type Provider struct {
	Wire      string            `toml:"wire"` // anthropic, openai-responses, openai-chat, gemini, ollama
	BaseURL   string            `toml:"base_url"`
	APIKeyEnv string            `toml:"api_key_env"`
	Compat    string            `toml:"compat"` // vendor of the compatibility table; default by name or base URL
	Headers   map[string]string `toml:"headers"`
	Local     *bool             `toml:"local"` // longer silence limits; default by address
	Models    []Model           `toml:"models"`
	OAuth     *OAuth            `toml:"oauth"`
	// FirstEventSeconds and IdleSeconds override the silence limits; 0 keeps the default.
	FirstEventSeconds int    `toml:"first_event_seconds"`
	IdleSeconds       int    `toml:"idle_seconds"`
	Reasoning         string `toml:"reasoning"` // "", "none", "low", "medium", "high"
}

// Model overrides or adds the facts of one model.
type Model struct {
	ID            string   `toml:"id"`
	ContextWindow int      `toml:"context_window"` // tokens
	MaxOutput     int      `toml:"max_output"`     // tokens
	Vision        *bool    `toml:"vision"`
	Reasoning     *bool    `toml:"reasoning"`
	Tools         *bool    `toml:"tools"`
	CostIn        *float64 `toml:"cost_in"`  // US dollars a million tokens
	CostOut       *float64 `toml:"cost_out"` // US dollars a million tokens
}

// OAuth configures a sign-in that no preset covers.
type OAuth struct {
	AuthURL   string   `toml:"auth_url"`
	TokenURL  string   `toml:"token_url"`
	DeviceURL string   `toml:"device_url"`
	ClientID  string   `toml:"client_id"`
	Scopes    []string `toml:"scopes"`
}

// Embedding names the model that makes vectors; empty means keywords only.
type Embedding struct {
	Provider string `toml:"provider"`
	Model    string `toml:"model"`
}

// Image names the model that generates images; empty means none.
type Image struct {
	Provider string `toml:"provider"`
	Model    string `toml:"model"`
}

// KB are the settings of the knowledge base.
type KB struct {
	Backend       string   `toml:"backend"` // "bolt" (default) or "postgres"
	PostgresURL   string   `toml:"postgres_url"`
	VectorWeight  float64  `toml:"vector_weight"`
	KeywordWeight float64  `toml:"keyword_weight"`
	Threshold     float64  `toml:"threshold"` // default 0.15
	Results       int      `toml:"results"`   // default 8
	Folders       []string `toml:"folders"`
	MaxFileMB     int      `toml:"max_file_mb"` // larger files are skipped; default 20
}

// Web are the settings of web_search and web_fetch.
type Web struct {
	Search       string   `toml:"search"` // "", "duckduckgo", "searxng", "brave", "tavily"
	SearchURL    string   `toml:"search_url"`
	SearchKeyEnv string   `toml:"search_key_env"`
	AllowPrivate []string `toml:"allow_private"` // hosts or CIDRs that web_fetch may reach all the same
}

// Sandbox are the settings of the executor.
type Sandbox struct {
	Off            bool     `toml:"off"`
	Read           []string `toml:"read"`
	Write          []string `toml:"write"`
	Env            []string `toml:"env"` // further variables for child processes
	TimeoutSeconds int      `toml:"timeout_seconds"`
	// AllowDestructive lists commands that the denylist would refuse.
	AllowDestructive []string `toml:"allow_destructive"`
}

// Connector is one MCP server.
type Connector struct {
	Command []string          `toml:"command"` // stdio
	URL     string            `toml:"url"`     // streamable HTTP
	Env     map[string]string `toml:"env"`
	Headers map[string]string `toml:"headers"`
	Off     bool              `toml:"off"`
	Allow   bool              `toml:"allow"` // run its tools without asking
	OAuth   *OAuth            `toml:"oauth"`
	// TimeoutSeconds bounds one call; default 120.
	TimeoutSeconds int `toml:"timeout_seconds"`
}

// Tool are the settings of one tool.
type Tool struct {
	Off   bool `toml:"off"`
	Allow bool `toml:"allow"`
}

// Prompt is a named prompt on the selected text.
type Prompt struct {
	Name   string `toml:"name"`
	Text   string `toml:"text"`
	Hotkey string `toml:"hotkey"`
}

// Log are the settings of the log.
type Log struct {
	// Messages lets the log hold message text; off unless the user turns it on.
	Messages bool `toml:"messages"`
}

// Default returns the settings of a missing or empty file.
func Default() Config {
	return Config{
		Hotkey:     "ctrl+shift+space",
		WorkingDir: "~/Perch",
		Context:    Context{CompactAt: 0.6},
		Limits:     Limits{Retries: 5, Rounds: 100, Concurrency: 4},
		Popup:      Popup{ResumeMinutes: 30, TextScale: 1},
		Notify:     Notify{AfterSeconds: 10},
		KB:         KB{Backend: "bolt", VectorWeight: 0.7, KeywordWeight: 0.3, Threshold: 0.15, Results: 8, MaxFileMB: 20},
		Sandbox:    Sandbox{TimeoutSeconds: 120},
	}
}
