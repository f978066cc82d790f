package auth

import (
	"encoding/json"
	"time"

	"perch/providers"
)

// The kinds of a record.
const (
	kindKey   = "key"
	kindOAuth = "oauth"
)

// early is how long before its end an access token counts as expired.
const early = 60 * time.Second

// record is a credential as it is stored.
type record struct {
	Kind    string    `json:"kind"`
	Key     string    `json:"key,omitempty"`
	Access  string    `json:"access,omitempty"`
	Refresh string    `json:"refresh,omitempty"`
	Expires time.Time `json:"expires,omitzero"`
}

func (r record) encode() string {
	b, _ := json.Marshal(r)
	return string(b)
}

func decodeRecord(s string) (record, error) {
	var r record
	err := json.Unmarshal([]byte(s), &r)
	return r, err
}

// stale reports whether the access token is expired or about to.
func (r record) stale(now time.Time) bool {
	return r.Access == "" || !r.Expires.IsZero() && now.Add(early).After(r.Expires)
}

func (r record) credential() providers.Credential {
	if r.Kind == kindOAuth {
		return providers.Credential{Token: providers.Secret(r.Access), OAuth: true}
	}
	return providers.Credential{Token: providers.Secret(r.Key)}
}
