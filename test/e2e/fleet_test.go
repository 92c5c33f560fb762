package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"

	ctrl "sigs.k8s.io/controller-runtime"

	"fairlead.dev/test/cluster"
	"fairlead.dev/test/fleet"
)

// How long things may take on a machine that does other work too.
const (
	patience = 2 * time.Minute
	poll     = 100 * time.Millisecond
)

// theFleet is started by the first test that needs it.
var theFleet = sync.OnceValues(func() (*fleet.Fleet, error) {
	root, err := cluster.Root()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("/tmp", "fairlead-e2e-")
	if err != nil {
		return nil, err
	}
	f, err := fleet.New(fleet.Options{
		Bin: filepath.Join(root, "bin"), Dir: dir, Clusters: 3, Nodes: 2,
		Report: func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) },
	})
	if err != nil {
		return nil, err
	}
	started = f
	return f, f.Up(context.Background())
})

// started is the fleet to stop, ready or not.
var started *fleet.Fleet

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard()) // the programs have logs of their own
	code := m.Run()
	if started != nil {
		if err := stop(started); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}

func stop(f *fleet.Fleet) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := f.Down(ctx); err != nil {
		return err
	}
	return os.RemoveAll(f.Dir)
}

func up(t *testing.T) *fleet.Fleet {
	t.Helper()
	f, err := theFleet()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func eventually(t *testing.T, check func(g Gomega)) {
	t.Helper()
	NewWithT(t).Eventually(check).WithTimeout(patience).WithPolling(poll).Should(Succeed())
}

// kubectl runs kubectl on the hub or a member, which must succeed.
func kubectl(t *testing.T, g Gomega, f *fleet.Fleet, name string, args ...string) string {
	t.Helper()
	out, err := f.Kubectl(t.Context(), name, args...)
	g.Expect(err).NotTo(HaveOccurred())
	return out
}

// apply applies YAML to the hub.
func apply(t *testing.T, f *fleet.Fleet, yaml string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "objects.yaml")
	g := NewWithT(t)
	g.Expect(os.WriteFile(file, []byte(yaml), 0o600)).To(Succeed())
	kubectl(t, g, f, fleet.HubName, "apply", "-f", file)
}
