package chatview

import (
	"fyne.io/fyne/v2"

	"perch/chat"
	"perch/popup/transcript"
)

// Actions are what the view asks of its owner. All are called on the window's
// thread; a nil one hides what would call it.
type Actions struct {
	// Text gives the words of the interface.
	Text func(id string, args ...any) string
	// ErrorText says an error.
	ErrorText func(*chat.Error) string
	// NoticeText says a notice.
	NoticeText func(id string, args []string, english string) string
	// Toggle folds a row.
	Toggle func(key string)
	// Copy takes text to the clipboard.
	Copy func(text string)
	// Selected is told what the user selected with the pointer.
	Selected func(text string)
	// Open follows a link that the user clicked.
	Open func(link string)
	// Hover shows where a link leads, "" for none.
	Hover func(link string)
	// Picture returns the bytes of a stored image, or nil and later calls
	// Restyle-free redraw through View.PictureReady.
	Picture func(img *chat.Image) []byte
	// OpenPicture shows a picture at its full size.
	OpenPicture func(img *chat.Image)
	// UndoCompaction takes back the newest compaction.
	UndoCompaction func()
	// Edit puts a message of the user back into the entry.
	Edit func(message, text string)
	// Regenerate asks the question of an answer again; Fork copies the session
	// up to a message; Revert undoes the files of a run; Insert types text into
	// the window that had the focus before.
	Regenerate func(f transcript.Foot)
	Fork       func(message string)
	Revert     func(run string)
	Insert     func(text string)
	// Menu shows a menu for a row at a place of the window.
	Menu func(row *transcript.Row, at fyne.Position)
	// Touched is called after each click, so that the entry gets the focus back.
	Touched func()
}

func (a *Actions) touched() {
	if a.Touched != nil {
		a.Touched()
	}
}

func (a *Actions) text(id string, args ...any) string {
	if a.Text == nil {
		return id
	}
	return a.Text(id, args...)
}

func (v *View) setHover(link string) {
	if link == v.hover {
		return
	}
	v.hover = link
	if v.actions.Hover != nil {
		v.actions.Hover(link)
	}
}

// hoverRow shows the buttons that belong to the row under the pointer.
func (v *View) hoverRow(r *rowView, a *area) {
	for _, s := range v.shown {
		s.hover(s == r, a)
	}
}

func (v *View) menuAt(row int, at fyne.Position) {
	if row >= 0 && row < len(v.rows) {
		v.actions.Menu(v.rows[row], at)
	}
}

// PictureReady draws the rows of an image whose bytes have arrived.
func (v *View) PictureReady(hash string) {
	for i, r := range v.rows {
		if r.Kind == transcript.Picture && r.Image.Hash == hash {
			if s := v.shown[i]; s != nil {
				s.stale = true
			}
			v.settle(i)
		}
	}
}

// Tick draws anew the rows whose text depends on the time: a retry's countdown.
func (v *View) Tick() {
	for i, r := range v.shown {
		if r.row != nil && r.row.Kind == transcript.Line && r.row.Line.Kind == transcript.RetryLine && i >= len(v.rows)-2 {
			r.stale = true
			v.settle(i)
		}
	}
}
