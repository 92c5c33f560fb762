package main

import (
	"net/url"
	"os"
	"path/filepath"
	"testing"
)

// others resolves every service to one address.
type others struct{}

func (others) ResolveEndpoint(string, string, int32) (*url.URL, error) {
	return &url.URL{Scheme: "https", Host: "other:1"}, nil
}

func TestTheHubOfThisMachineIsFound(t *testing.T) {
	t.Parallel()
	r := linesResolver{ServiceResolver: others{}, file: filepath.Join(t.TempDir(), linesFile)}
	resolves := func(name, want string) {
		t.Helper()
		got, err := r.ResolveEndpoint("kube-system", name, 443)
		switch {
		case want == "" && err == nil:
			t.Errorf("%s is found at %s", name, got)
		case want != "" && (err != nil || got.String() != want):
			t.Errorf("%s is found at %v (%v), want %s", name, got, err, want)
		}
	}
	resolves(linesService, "https://other:1")
	for content, want := range map[string]string{"127.0.0.1:4711\n": "https://127.0.0.1:4711", "": "", "127.0.0.1": ""} {
		if err := os.WriteFile(r.file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		resolves(linesService, want)
		resolves("metrics-server", "https://other:1")
	}
}
