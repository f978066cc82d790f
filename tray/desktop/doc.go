// Package desktop is the desktop role: the process that has the tray icon, owns
// the clipboard once Perch has set it, takes screenshots, shows notifications
// and speaks to the desktop's portals.
//
// It is perch itself, started again with the argument [Argument]. It stands
// apart because the libraries for these things can be set up once in a process
// only, and because a portal looks into the process that calls it, which the
// owner of keys and sessions does not allow. The role holds no secrets and no
// texts: it draws the menu it is given. It ends when its standard input ends,
// and gets its environment from the client that has a desktop.
//
// [Main] is the role. [Supervisor] is the owner's side: it starts the role,
// starts it again when it is lost, and gives it back the menu, the notification
// ids' meaning and the clipboard's content.
package desktop

// Argument is the first argument of a perch that plays the desktop role.
const Argument = "desktop-role"
