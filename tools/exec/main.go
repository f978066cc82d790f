package exec

// The hidden first arguments with which Perch starts itself again.
const (
	supervisorArg = "exec-supervisor"
	confineArg    = "exec-confine"
)

// Main runs a stage of a confined command if args (os.Args[1:]) ask for one.
// main must call it before anything else and exit with the code when handled is
// true.
func Main(args []string) (code int, handled bool) {
	if len(args) == 0 {
		return 0, false
	}
	switch args[0] {
	case supervisorArg:
		return SupervisorMain(args[1:]), true
	case confineArg:
		return ConfineMain(args[1:]), true
	}
	return 0, false
}
