package upkeep

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/test/fleet"
	"fairlead.dev/test/fleet/fleettest"
)

const (
	// counter is a template that changes all the time.
	counter = "counter"
	keep    = 3
	// interval is the time between changes: other programs need the processor as well.
	interval = 200 * time.Millisecond
)

// backups is the fleet, whose hub makes backups to a directory.
type backups struct {
	*fleettest.World

	dir, data, key, public string
}

func newBackups(t *testing.T) *backups {
	t.Helper()
	w := &backups{World: shared.World(t, fleet.HubName, fleet.AgentName(stays)), dir: filepath.Join(t.TempDir(), "backups")}
	w.data = filepath.Join(w.Dir, fleet.HubName)
	w.key = filepath.Join(t.TempDir(), "hub-backup.key")
	public, err := w.Run(t.Context(), "hub", "backup", "keygen", w.key)
	w.G.Expect(err).NotTo(HaveOccurred())
	w.public = strings.TrimSpace(public)
	return w
}

// restart restarts the hub with further flags.
func (w *backups) restart(flags ...string) {
	w.T.Helper()
	w.G.Expect(w.Stop(w.T.Context(), fleet.HubName)).To(Succeed())
	w.HubArgs = flags
	w.G.Expect(w.StartHub(w.T.Context())).To(Succeed())
}

// found returns the names of the files in the backup directory that match.
func (w *backups) found(g Gomega, is func(name string) bool) []string {
	entries, err := os.ReadDir(w.dir)
	g.Expect(err).NotTo(HaveOccurred())
	var out []string
	for _, entry := range entries {
		if is(entry.Name()) {
			out = append(out, filepath.Join(w.dir, entry.Name()))
		}
	}
	return out
}

func isBackup(name string) bool {
	return strings.HasPrefix(name, "fairlead-") && strings.HasSuffix(name, ".backup.age")
}

func isPartial(name string) bool { return strings.HasSuffix(name, ".partial") }

// taken returns the time of a backup, to the second, from its name.
func (w *backups) taken(file string) time.Time {
	w.T.Helper()
	_, stamp, _ := strings.Cut(strings.TrimPrefix(filepath.Base(file), "fairlead-"), "-")
	at, err := time.Parse("20060102T150405Z", strings.TrimSuffix(stamp, ".backup.age"))
	w.G.Expect(err).NotTo(HaveOccurred())
	return at
}

// hub runs an operator's command that does not need a running hub.
func (w *backups) hub(args ...string) error {
	_, err := w.Run(w.T.Context(), "hub", args...)
	return err
}

// counting changes the template until it is stopped, and records the acknowledged numbers with their times.
type counting struct {
	mu    sync.Mutex
	acked []time.Time
	stop  func()
}

func (w *backups) count() *counting {
	w.T.Helper()
	ctx, cancel := context.WithCancel(w.T.Context())
	c := &counting{}
	done := make(chan struct{})
	c.stop = func() { cancel(); <-done }
	go func() {
		defer close(done)
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for n := 1; ctx.Err() == nil; <-ticker.C {
			if w.set(ctx, n) != nil {
				continue // the hub is away
			}
			c.mu.Lock()
			c.acked = append(c.acked, time.Now())
			c.mu.Unlock()
			n++
		}
	}()
	w.T.Cleanup(c.stop)
	return c
}

// before returns the last number acknowledged before a time, and the last of all.
func (c *counting) before(at time.Time) (n, last int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, _ = slices.BinarySearchFunc(c.acked, at, time.Time.Compare)
	return n, len(c.acked)
}

func (w *backups) set(ctx context.Context, n int) error {
	c, err := w.Client(fleet.HubName)
	if err != nil {
		return err
	}
	template := &corev1.ConfigMap{}
	template.Namespace, template.Name = corev1.NamespaceDefault, counter
	return c.Patch(ctx, template, client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"data":{"n":"%d"}}`, n)))
}

// get returns the template on the hub, or its object in the member, and the number in it.
func (w *backups) get(g Gomega, where string) (*corev1.ConfigMap, int) {
	c, err := w.Client(where)
	g.Expect(err).NotTo(HaveOccurred())
	object := &corev1.ConfigMap{}
	g.Expect(c.Get(w.T.Context(), client.ObjectKey{Namespace: corev1.NamespaceDefault, Name: counter}, object)).To(Succeed())
	n, _ := strconv.Atoi(object.Data["n"]) // the first has none
	return object, n
}

func TestAHubMakesSealedBackupsFromWhichItIsRestored(t *testing.T) {
	w := newBackups(t)
	w.ApplyConfigMap(counter, stays)
	w.G.Expect(w.hub("backup", "status", "--kubeconfig", w.Kubeconfig(fleet.HubName))).To(MatchError(ContainSubstring("makes no backups by itself")))
	manual := filepath.Join(t.TempDir(), "hub.backup")
	w.G.Expect(w.hub("backup", "--data-dir", w.data, manual)).To(MatchError(ContainSubstring("--recipient")), "nothing is written unsealed that nobody asked to be")
	w.G.Expect(w.hub("backup", "--data-dir", w.data, "--recipient", w.public, manual)).To(Succeed())
	w.G.Expect(w.hub("backup", "verify", manual, "--key", w.key)).To(Succeed())

	schedule := func(every string) []string {
		return []string{"--backup-every=" + every, "--backup-dir=" + w.dir, "--backup-keep=" + strconv.Itoa(keep), "--backup-recipient=" + w.public}
	}
	w.restart(schedule("1h")...)
	w.Eventually(func(g Gomega) { g.Expect(w.found(g, isBackup)).NotTo(BeEmpty(), "the first is made at once") })
	w.Eventually(func(g Gomega) {
		status, err := w.Run(t.Context(), "hub", "backup", "status", "--kubeconfig", w.Kubeconfig(fleet.HubName))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(status).To(And(ContainSubstring(w.dir), ContainSubstring("restored once to verify it")))
	})
	w.restart(schedule("1s")...)
	counting := w.count()
	notes := filepath.Join(w.dir, "notes.txt")
	w.Eventually(func(g Gomega) { g.Expect(os.WriteFile(notes, nil, 0o600)).To(Succeed()) })
	var first []string
	w.Eventually(func(g Gomega) {
		first = w.found(g, isBackup)
		g.Expect(first).NotTo(BeEmpty())
	})
	w.Eventually(func(g Gomega) {
		g.Expect(w.found(g, isBackup)).To(And(HaveLen(keep), Not(ContainElement(first[0]))), "the oldest go")
		g.Expect(notes).To(BeARegularFile(), "what is not the hub's stays")
	})

	w.killInTheMiddle()
	for _, file := range w.found(w.G, isBackup) {
		info, err := os.Stat(file)
		w.G.Expect(err).NotTo(HaveOccurred())
		w.G.Expect(info.Mode().Perm()).To(BeEquivalentTo(0o600))
		w.G.Expect(w.hub("backup", "verify", file, "--key", w.key)).To(Succeed(), "whatever is called a backup is one")
	}
	left := w.found(w.G, isPartial)
	w.G.Expect(w.StartHub(t.Context())).To(Succeed())
	w.Eventually(func(g Gomega) {
		for _, file := range left {
			g.Expect(file).NotTo(BeAnExistingFile(), "the next one removes it")
		}
	})
	w.Eventually(func(g Gomega) { // there is a backup made after the kill
		newest := slices.Max(w.found(g, isBackup))
		n, _ := counting.before(w.taken(newest))
		g.Expect(n).To(BeNumerically(">", 0))
	})
	w.Eventually(func(g Gomega) { _, n := w.get(g, stays); g.Expect(n).To(BeNumerically(">", 0)) })
	was, _ := w.get(w.G, stays)

	w.G.Expect(w.Kill(t.Context(), fleet.HubName)).To(Succeed())
	counting.stop()
	newest := slices.Max(w.found(w.G, isBackup))
	w.G.Expect(os.RemoveAll(w.data)).To(Succeed())
	w.refused(newest)
	w.G.Expect(w.hub("restore", "--data-dir", w.data, "--key", w.key, newest)).To(Succeed())
	w.HubArgs = nil
	w.G.Expect(w.Up(t.Context())).To(Succeed(), "with an agent that comes back by itself")

	_, restored := w.get(w.G, fleet.HubName)
	least, last := counting.before(w.taken(newest))
	w.G.Expect(restored).To(And(BeNumerically(">=", least), BeNumerically("<=", last+1)), "all is there that was written before the backup was made")
	w.G.Expect(w.set(t.Context(), last+100)).To(Succeed())
	w.Eventually(func(g Gomega) {
		is, n := w.get(g, stays)
		g.Expect(n).To(Equal(last + 100))
		g.Expect(is.UID).To(Equal(was.UID), "it was never deleted")
	})
}

// killInTheMiddle kills the hub while it writes or verifies a backup.
func (w *backups) killInTheMiddle() {
	w.T.Helper()
	w.Eventually(func(g Gomega) {
		g.Expect(w.StartHub(w.T.Context())).To(Succeed())
		NewWithT(w.T).Eventually(func(g Gomega) { g.Expect(w.found(g, isPartial)).NotTo(BeEmpty()) }).
			WithTimeout(fleettest.WaitTimeout).WithPolling(time.Millisecond).Should(Succeed())
		g.Expect(w.Kill(w.T.Context(), fleet.HubName)).To(Succeed())
		g.Expect(w.found(g, isPartial)).NotTo(BeEmpty(), "it was done before it was killed")
	})
}

// refused checks that nothing is restored from a backup without its key, or from a truncated one.
func (w *backups) refused(file string) {
	w.T.Helper()
	data, err := os.ReadFile(file)
	w.G.Expect(err).NotTo(HaveOccurred())
	cut := filepath.Join(w.T.TempDir(), "cut.backup.age")
	w.G.Expect(os.WriteFile(cut, data[:len(data)*9/10], 0o600)).To(Succeed())
	other := filepath.Join(w.T.TempDir(), "other.key")
	w.G.Expect(w.hub("backup", "keygen", other)).To(Succeed())
	w.G.Expect(w.hub("backup", "keygen", other)).To(MatchError(ContainSubstring("exists")), "a key is not overwritten")
	for _, command := range [][]string{{"restore", "--data-dir", w.data}, {"backup", "verify"}} {
		w.G.Expect(w.hub(append(command, file)...)).To(MatchError(ContainSubstring("the backup is sealed: name the file of its secret key")))
		w.G.Expect(w.hub(append(command, file, "--key", other)...)).To(MatchError(ContainSubstring("the backup is sealed for other keys")))
		w.G.Expect(w.hub(append(command, cut, "--key", w.key)...)).To(MatchError(ContainSubstring("cut short or changed")))
	}
}
