package store

// syncDir has nothing to do: NTFS journals its names.
func syncDir(string) error { return nil }
