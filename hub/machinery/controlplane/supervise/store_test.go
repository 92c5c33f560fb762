package supervise

import (
	"testing"

	"fairlead.dev/hub/machinery/controlplane/args"
	"fairlead.dev/hub/machinery/controlplane/datadir"
)

func TestAHubKnowsThatItHasUsedAnEtcd(t *testing.T) {
	t.Parallel()
	dir, err := datadir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dir.Close() }()
	before := func() string {
		t.Helper()
		p, err := peer(dir)
		if err != nil {
			t.Fatal(err)
		}
		if p.Note != dir.ExternalFile() {
			t.Errorf("its note is %s", p.Note)
		}
		return p.Before
	}
	if got := before(); got != "" {
		t.Errorf("a new one has used %s", got)
	}
	if err := dir.UseExternal(args.ExternalEtcd{Servers: []string{"https://a:2379", "https://b:2379"}, Prefix: "/edge"}); err != nil {
		t.Fatal(err)
	}
	if got := before(); got != "https://a:2379,https://b:2379 below /edge" {
		t.Errorf("got %q", got)
	}
}
