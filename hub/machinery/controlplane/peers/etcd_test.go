package peers

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"

	"k8s.io/utils/clock"

	"fairlead.dev/hub/machinery/controlplane/etcdtest"
)

// startEtcd returns the directory of hubs in an in-process etcd.
func startEtcd(t *testing.T) Etcd {
	t.Helper()
	dir := t.TempDir()
	_, client := etcdtest.Start(t, etcdtest.Options{Run: dir, Data: filepath.Join(dir, "etcd")})
	return Etcd{Client: client, Prefix: "/registry"}
}

func running(t *testing.T, e Etcd) string {
	t.Helper()
	found, err := e.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var hosts []string
	for _, other := range found.Running {
		hosts = append(hosts, other.Host)
	}
	return strings.Join(hosts, " ")
}

func TestAHubThatEtcdForgotLooksAgain(t *testing.T) {
	e := startEtcd(t)
	enter := func(p Peer) *Entry {
		t.Helper()
		entry, err := e.Enter(t.Context(), p, clock.RealClock{})
		if err != nil {
			t.Fatal(err)
		}
		return entry
	}
	old := enter(hub("a", authority("ca", "k1")))
	if _, err := e.Enter(t.Context(), hub("b", authority("ca", "k2,k1")), clock.RealClock{}); !errors.Is(err, ErrAuthority) {
		t.Fatalf("a key that the other hub does not know: %v", err)
	}
	if got := running(t, e); got != "a" {
		t.Fatalf("running: %q", got)
	}

	// Its machine hung until its etcd lease expired, and nothing has changed.
	forget := func() {
		t.Helper()
		if _, err := e.Client.Revoke(t.Context(), old.session.Load().Lease()); err != nil {
			t.Fatal(err)
		}
	}
	forget()
	eventually := func(check func(Gomega)) {
		t.Helper()
		NewWithT(t).Eventually(check).WithTimeout(time.Minute).WithPolling(10 * time.Millisecond).Should(Succeed())
	}
	eventually(func(g Gomega) { g.Expect(running(t, e)).To(Equal("a"), "it comes back") })
	// The etcd had no majority: it still has the entry whose lease was not renewed, and the hub registers again.
	entries := func() string {
		t.Helper()
		got, err := e.Client.Get(t.Context(), e.running(), clientv3.WithPrefix(), clientv3.WithKeysOnly())
		if err != nil {
			t.Fatal(err)
		}
		var keys []string
		for _, kv := range got.Kvs {
			keys = append(keys, string(kv.Key))
		}
		return strings.Join(keys, " ")
	}
	before := ""
	eventually(func(g Gomega) {
		before = entries()
		g.Expect(before).To(HaveSuffix(fmt.Sprintf("/%x", old.session.Load().Lease())))
	})
	old.session.Load().Orphan()
	eventually(func(g Gomega) {
		g.Expect(entries()).To(And(Not(BeEmpty()), Not(ContainSubstring(before))), "it leaves no entry behind")
	})
	old.Leave()
	if got := running(t, e); got != "" {
		t.Fatalf("running after all have left: %q", got)
	}

	// Meanwhile another hub has started to encrypt with a new key.
	old = enter(hub("a", authority("ca", "k1")))
	data := hub("b", authority("ca", "k2,k1"))
	if ok, err := e.record(t.Context(), data.Authority, nil, revision(t, e)); err != nil || !ok {
		t.Fatal(ok, err)
	}
	forget()
	select {
	case err := <-old.Refused():
		if !errors.Is(err, ErrAuthority) || !strings.Contains(err.Error(), "k2") {
			t.Fatal(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it goes on with a key that is not the one any more")
	}
	old.Leave()
	if got := running(t, e); got != "" {
		t.Fatalf("running: %q", got)
	}
}

// TestAHubWhoseEtcdIsEmptiedEnds has an etcd that comes back empty.
func TestAHubWhoseEtcdIsEmptiedEnds(t *testing.T) {
	e := startEtcd(t)
	entry, err := e.Enter(t.Context(), hub("a", authority("ca", "k1")), clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	defer entry.Leave()
	if _, err := e.Client.Delete(t.Context(), "", clientv3.WithPrefix()); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Client.Revoke(t.Context(), entry.session.Load().Lease()); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-entry.Refused():
		if !errors.Is(err, ErrEmpty) || !strings.Contains(err.Error(), "below /registry") {
			t.Fatal(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it goes on with an etcd that has nothing of it")
	}
}

// revision returns the revision of the record.
func revision(t *testing.T, e Etcd) int64 {
	t.Helper()
	_, revision, err := e.read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return revision
}
