package exec

// spec is what the second stage does: it crosses the pipes as JSON.
type spec struct {
	Argv []string `json:"argv"`
	Dir  string   `json:"dir"`
	Env  []string `json:"env"`
	// Background says that descendants may outlive the command.
	Background bool `json:"background,omitempty"`
	// Stdin says that the supervisor was given a file for standard input.
	Stdin bool `json:"stdin,omitempty"`

	// Confine asks for confinement; what follows counts only then.
	Confine bool     `json:"confine,omitempty"`
	Read    []string `json:"read,omitempty"`
	Write   []string `json:"write,omitempty"`
	Devices []string `json:"devices,omitempty"`
	// List are folders whose names may be listed, at any depth.
	List    []string `json:"list,omitempty"`
	Network bool     `json:"network,omitempty"`
	// Bwrap is the bubblewrap program, "" for none; Hide are folders and sockets
	// that it takes out of the command's sight.
	Bwrap string   `json:"bwrap,omitempty"`
	Hide  []string `json:"hide,omitempty"`
	// Kernel pretends a Landlock version, for tests.
	Kernel *int `json:"kernel,omitempty"`
}
