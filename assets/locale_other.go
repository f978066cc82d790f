//go:build !windows

package assets

// systemLocale is known from the environment alone here.
func systemLocale() string { return "" }
