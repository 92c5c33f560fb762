package peers

import (
	"errors"
	"strings"
	"testing"
)

func hub(host string, a Authority) Peer { return Peer{Host: host, DataDir: "/data", Authority: a} }

func authority(trusted, encryption string) Authority {
	return Authority{Trusted: strings.Split(trusted, ","), FrontProxy: "proxy", ServiceAccount: "account", Encryption: strings.Split(encryption, ",")}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	old := authority("old", "k1")
	other := old
	other.ServiceAccount = "another"
	for name, tc := range map[string]struct {
		own   Authority
		found Found
		want  string
	}{
		"a new hub on a new etcd":                 {own: Authority{}},
		"a new hub on the etcd of a hub":          {found: Found{Recorded: &old, Objects: true}, want: "has no authority yet"},
		"a new hub on somebody else's etcd":       {found: Found{Objects: true}, want: "name another --etcd-prefix"},
		"a hub that was restored to a new etcd":   {own: old, found: Found{Objects: true}},
		"a hub that comes back":                   {own: old, found: Found{Recorded: &old, Objects: true}},
		"a hub of another fleet":                  {own: other, found: Found{Recorded: &old}, want: "its key of service accounts is another"},
		"beside one of the same authority":        {own: old, found: Found{Recorded: &old, Running: []Peer{hub("b", old)}}},
		"both authorities, of which one signs":    {own: authority("old,new", "k1"), found: Found{Recorded: &old, Running: []Peer{hub("b", old)}}},
		"an authority that the others lack":       {own: authority("new,old", "k1"), found: Found{Recorded: &old, Running: []Peer{hub("b", old)}}, want: "Stop it, start this one"},
		"an authority that was given up":          {own: old, found: Found{Recorded: new(authority("new", "k1"))}, want: "authority new, which is none of those here (old)"},
		"a key of encryption that is not here":    {own: old, found: Found{Recorded: new(authority("old", "k2"))}, want: "encrypted with key k2"},
		"a key that the others cannot decrypt":    {own: authority("old", "k2,k1"), found: Found{Recorded: &old, Running: []Peer{hub("b", old)}}, want: "the hub on b (/data), which runs"},
		"a new key once the others are stopped":   {own: authority("old", "k2,k1"), found: Found{Recorded: &old}},
		"its own last start, with an older key":   {own: authority("old", "k2,k1"), found: Found{Recorded: &old, Running: []Peer{hub("a", old)}}},
		"a running hub encrypts with what is new": {own: old, found: Found{Recorded: &old, Running: []Peer{hub("b", authority("old", "k2,k1"))}}, want: "the hub on b (/data) runs, and the database"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := Decide(hub("a", tc.own), tc.found)
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tc.want != "" && (!errors.Is(err, ErrAuthority) || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}
