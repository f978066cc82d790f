package extract

import "net/url"

// unescapePath undoes %20 and its kin in a link inside an archive.
func unescapePath(s string) string {
	if p, err := url.PathUnescape(s); err == nil {
		return p
	}
	return s
}
