package providers_test

import (
	"context"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"perch/chat"
	"perch/providers"
	"perch/providers/providertest"
)

func TestTheUsersCertificateIsTrustedAndHTTP2IsSpoken(t *testing.T) {
	proto := 0
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proto = r.ProtoMajor
		fmt.Fprint(w, piece+ended)
	}))
	srv.EnableHTTP2 = true
	srv.Config.ErrorLog = nil
	srv.StartTLS()
	defer srv.Close()
	ask := func() error {
		client, err := providers.NewHTTPClient()
		if err != nil {
			return err
		}
		defer client.CloseIdleConnections()
		return providertest.Drain(context.Background(), server(nil, func(e *providers.Endpoint) { e.BaseURL, e.Client = srv.URL, client }), plain()).Err
	}
	if err := ask(); chat.ClassOf(err) != chat.ClassBadRequest || !strings.Contains(err.Error(), "PERCH_CA") {
		t.Errorf("an unknown certificate: %v", err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{file, dir} {
		t.Setenv("PERCH_CA", at)
		if err := ask(); err != nil || proto != 2 {
			t.Errorf("%s: %v, HTTP/%d", at, err, proto)
		}
	}
	t.Setenv("PERCH_CA", filepath.Join(dir, "missing.pem"))
	if err := ask(); chat.ClassOf(err) != chat.ClassMisuse {
		t.Error(err)
	}
}
