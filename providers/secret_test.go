package providers_test

import (
	"testing"

	"perch/providers"
)

func TestShapesOfKeysAreBlankedAndOrdinaryWordsAreNot(t *testing.T) {
	for text, want := range map[string]string{
		"key sk-proj-abcdefghijkl.":            "key [secret].",
		"gsk_abcDEF1234567890":                 "[secret]",
		"Authorization: Bearer abc.def-ghi123": "Authorization: [secret]",
		"AIzaSyA1234567890abcdefghijklmnop":    "[secret]",
		"task-management-system":               "task-management-system",
		"hf_datasets_cache":                    "hf_datasets_cache",
		"csk-update-script":                    "csk-update-script",
		"the bearer of news":                   "the bearer of news",
		"":                                     "",
	} {
		if got := providers.Redact(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
