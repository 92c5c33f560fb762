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
	record := func(a Authority) *Record { return &Record{Authority: a} }
	oldRecord := record(old)
	finished := record(authority("old,new", "k1")).after(authority("new", "k1"))
	other := old
	other.ServiceAccount = "another"
	for name, tc := range map[string]struct {
		own   Authority
		found Found
		want  string
	}{
		"a new hub on a new etcd":                 {own: Authority{}},
		"a new hub on the etcd of a hub":          {found: Found{Recorded: oldRecord, Objects: true}, want: "has no authority yet"},
		"a new hub on somebody else's etcd":       {found: Found{Objects: true}, want: "name another --etcd-prefix"},
		"a hub that was restored to a new etcd":   {own: old, found: Found{Objects: true, Installed: secretbox + "k1:…"}},
		"one that does not encrypt itself":        {own: old, found: Found{Objects: true, Installed: "k8s:enc:kms:v2:ours:…"}},
		"another hub that was restored":           {own: old, found: Found{Objects: true, Installed: secretbox + "k10:…"}, want: "encrypted with key k10"},
		"the etcd of a Kubernetes cluster":        {own: old, found: Found{Objects: true, Nodes: true}, want: "a Kubernetes cluster with nodes"},
		"the etcd of a cluster on which a hub is": {own: old, found: Found{Objects: true, Nodes: true, Installed: "k8s"}, want: "a Kubernetes cluster with nodes"},
		"the etcd of another API":                 {own: old, found: Found{Objects: true}, want: "not that of a hub"},
		"a hub that comes back":                   {own: old, found: Found{Recorded: oldRecord, Objects: true}},
		"a hub of another fleet":                  {own: other, found: Found{Recorded: oldRecord}, want: "its key of service accounts is another"},
		"beside one of the same authority":        {own: old, found: Found{Recorded: oldRecord, Running: []Peer{hub("b", old)}}},
		"both authorities, of which one signs":    {own: authority("old,new", "k1"), found: Found{Recorded: oldRecord, Running: []Peer{hub("b", old)}}},
		"an authority that the others lack":       {own: authority("new,old", "k1"), found: Found{Recorded: oldRecord, Running: []Peer{hub("b", old)}}, want: "Stop it, bring what this one has there"},
		"an authority that was given up":          {own: old, found: Found{Recorded: record(authority("new", "k1"))}, want: "authority new, which is none of those here (old)"},
		"one that slept through its end":          {own: authority("old,new", "k1"), found: Found{Recorded: &finished}, want: "was given up while it was away"},
		"while others run":                        {own: authority("old,new", "k1"), found: Found{Recorded: &finished, Running: []Peer{hub("b", authority("new", "k1"))}}, want: "hub ca import FILE --data-dir /data --replace"},
		"one that only trusts it still":           {own: authority("new,old", "k1"), found: Found{Recorded: &finished}},
		"a key of encryption that is not here":    {own: old, found: Found{Recorded: record(authority("old", "k2"))}, want: "encrypted with key k2"},
		"a key that the others cannot decrypt":    {own: authority("old", "k2,k1"), found: Found{Recorded: oldRecord, Running: []Peer{hub("b", old)}}, want: "the hub on b (/data), which runs"},
		"a new key once the others are stopped":   {own: authority("old", "k2,k1"), found: Found{Recorded: oldRecord}},
		"its own last start, with an older key":   {own: authority("old", "k2,k1"), found: Found{Recorded: oldRecord, Running: []Peer{hub("a", old)}}},
		"a running hub encrypts with what is new": {own: old, found: Found{Recorded: oldRecord, Running: []Peer{hub("b", authority("old", "k2,k1"))}}, want: "the hub on b (/data) runs, and the database"},
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

func TestAHubThatFindsNothingOfItselfDoesNotBeginAnew(t *testing.T) {
	t.Parallel()
	was := hub("a", authority("old", "k1"))
	was.Before, was.Note = "https://a:2379 below /registry", "/data/etcd.json"
	lost := was
	lost.Authority = Authority{}
	for name, tc := range map[string]struct {
		own     Peer
		found   Found
		refused bool
	}{
		"an empty etcd":                       {own: was, refused: true},
		"an empty etcd, and no authority":     {own: lost, refused: true},
		"what an API server wrote by itself":  {own: was, found: Found{Objects: true}, refused: true},
		"its own etcd":                        {own: was, found: Found{Recorded: &Record{Authority: was.Authority}, Objects: true, Installed: "k8s"}},
		"its first start was killed":          {own: was, found: Found{Recorded: &Record{Authority: was.Authority}}},
		"a database that was brought there":   {own: was, found: Found{Objects: true, Installed: secretbox + "k1:…"}},
		"an empty etcd for a hub that is new": {own: hub("a", Authority{})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := Decide(tc.own, tc.found)
			if errors.Is(err, ErrEmpty) != tc.refused || !tc.refused && err != nil {
				t.Fatalf("got %v", err)
			}
			if tc.refused && (!strings.Contains(err.Error(), was.Before) || !strings.Contains(err.Error(), "remove "+was.Note)) {
				t.Errorf("%v does not say where it was and how to go on", err)
			}
		})
	}
}

// The hubs of an etcd use the authority recorded there, not the one that another hub would start with.
func TestAHubThatLostAPartOfItsAuthorityIsToldHowToReplaceIt(t *testing.T) {
	t.Parallel()
	left := Peer{Host: "a", DataDir: "/data", HasFiles: true}
	for name, found := range map[string]Found{
		"the etcd of hubs":    {Recorded: &Record{Authority: authority("old", "k1")}, Objects: true},
		"one with objects":    {Objects: true},
		"one without objects": {Recorded: &Record{Authority: authority("old", "k1")}},
	} {
		if err := Decide(left, found); !errors.Is(err, ErrAuthority) || !strings.Contains(err.Error(), "--data-dir /data --replace") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := Decide(left, Found{}); err != nil {
		t.Errorf("it was killed when it began: %v", err)
	}
}

func TestTheRecordKeepsWhatWasGivenUp(t *testing.T) {
	t.Parallel()
	var r *Record
	for _, trusted := range []string{"a", "a,b", "b,a", "b", "b,a", "b,c", "c"} {
		next := r.after(authority(trusted, "k1"))
		r = &next
	}
	if got := strings.Join(r.GivenUp, ","); got != "a,b" {
		t.Errorf("got %s", got)
	}
}

func TestAnAuthorityThatIsNotEverywhereYetIsNotGivenUp(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		before *Record
		starts []string
		want   string
	}{
		// The machine that starts in between has not received the new authority.
		"a hub without it starts before it is brought there": {starts: []string{"a", "a,b", "a", "a,b", "b,a", "b"}, want: "a"},
		"an exchange that was begun twice":                   {starts: []string{"a", "a,b", "a", "a,c", "c,a", "c"}, want: "a"},
		"what an earlier version gave up by mistake": {
			before: &Record{Authority: authority("a,b", "k1"), GivenUp: []string{"b"}}, starts: []string{"a,b", "b,a", "b"}, want: "a",
		},
		"an exchange in the middle of which it was recorded by an earlier version": {
			before: &Record{Authority: authority("b,a", "k1")}, starts: []string{"b"}, want: "a",
		},
		"one that has signed does not come back by being trusted": {
			before: &Record{Authority: authority("a,b", "k1")}, starts: []string{"b,a", "b", "b,a"}, want: "a",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := tc.before
			for _, trusted := range tc.starts {
				own := authority(trusted, "k1")
				if err := Decide(hub("x", own), Found{Recorded: r, Objects: r != nil}); err != nil {
					t.Fatalf("%s: %v", trusted, err)
				}
				next := r.after(own)
				r = &next
			}
			if got := strings.Join(r.GivenUp, ","); got != tc.want {
				t.Errorf("given up: %q, want %q", got, tc.want)
			}
			if err := Decide(hub("y", authority("a,"+r.Trusted[0], "k1")), Found{Recorded: r}); !errors.Is(err, ErrAuthority) {
				t.Errorf("one that signs with what was given up: %v", err)
			}
		})
	}
}
