package journal

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/journal/entry"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/atomicfile"
	"fairlead.dev/common/contract"
)

const namespace = "karmada-es-edge"

// shelf is a journal's directory, and the warnings about it.
type shelf struct {
	directory string
	warnings  []string
}

func newShelf(t *testing.T) *shelf {
	t.Helper()
	return &shelf{directory: filepath.Join(t.TempDir(), "journal")}
}

func (s *shelf) open(cluster string) (*Journal, string, []string) {
	s.warnings = nil
	j, ns, records := Open(Options{
		Directory: s.directory, Cluster: cluster, Clock: clock.RealClock{}, Registry: prometheus.NewRegistry(),
		Log: funcr.New(func(_, args string) { s.warnings = append(s.warnings, args) }, funcr.Options{}),
	})
	var names []string
	for _, r := range records {
		name := r.Work.Name + "/" + strconv.FormatInt(r.Work.Generation, 10)
		if r.Absent {
			name += " absent"
		}
		if !r.Work.DeletionTimestamp.IsZero() {
			name += " deleting"
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return j, ns, names
}

// files returns the names of the entries of the directory.
func (s *shelf) files(g Gomega, below ...string) []string {
	entries, err := os.ReadDir(filepath.Join(append([]string{s.directory}, below...)...))
	g.Expect(err).NotTo(HaveOccurred())
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func work(name string, generation int64) *workv1alpha1.Work {
	w := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: "u", Generation: generation}}
	w.Spec.Workload.Manifests = []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(`{"kind":"Secret"}`)}}}
	return w
}

func TestTheJournalHasTheNewestOfEachWork(t *testing.T) {
	t.Parallel()
	g, s := NewWithT(t), newShelf(t)
	j, where, names := s.open("edge")
	g.Expect(where).To(BeEmpty())
	g.Expect(names).To(BeEmpty())
	j.Begin(namespace)
	long := strings.Repeat("n", 253)
	for _, w := range []*workv1alpha1.Work{work("a", 1), work("a", 2), work("b", 1), work("c", 1), work(long, 1)} {
		j.Put(w)
	}
	leaving := work("b", 1)
	leaving.DeletionTimestamp = new(metav1.Now())
	j.Put(leaving)
	j.Absent(work("c", 1))
	j.Put(work("d", 1))
	j.Remove(client.ObjectKeyFromObject(work("d", 1)))

	_, where, names = s.open("edge")
	g.Expect(where).To(Equal(namespace))
	g.Expect(names).To(Equal([]string{"a/2", "b/1 deleting", "c/1 absent", long + "/1"}))
	g.Expect(s.warnings).To(BeEmpty())

	info, err := os.Stat(s.directory)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(info.Mode().Perm()).To(Equal(os.FileMode(0o700)))
	for _, name := range s.files(g) {
		info, err := os.Stat(filepath.Join(s.directory, name))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(info.Mode().Perm()).To(Equal(os.FileMode(0o600)), name)
	}
}

// TestTheJournalHasTheNewestWordOnADeletion covers annotations about the deletion of a Work, which do not change its
// generation.
func TestTheJournalHasTheNewestWordOnADeletion(t *testing.T) {
	t.Parallel()
	g, s := NewWithT(t), newShelf(t)
	j, _, _ := s.open("edge")
	j.Begin(namespace)
	annotated := func(key, value string) *workv1alpha1.Work {
		w := work("a", 1)
		w.Annotations = map[string]string{key: value}
		return w
	}
	kept := func() map[string]string {
		_, _, records := Open(Options{
			Directory: s.directory, Cluster: "edge", Clock: clock.RealClock{}, Registry: prometheus.NewRegistry(), Log: funcr.New(func(_, _ string) {}, funcr.Options{}),
		})
		g.Expect(records).To(HaveLen(1))
		return records[0].Work.Annotations
	}
	j.Put(work("a", 1))
	g.Expect(kept()).To(BeEmpty())
	j.Put(annotated(contract.DeleteContentsAnnotation, "true"))
	g.Expect(kept()).To(HaveKeyWithValue(contract.DeleteContentsAnnotation, "true"))
	writes := 0
	j.replace = func(path string, text []byte) error {
		writes++
		return atomicfile.Replace(path, text)
	}
	again := annotated(contract.DeleteContentsAnnotation, "true")
	again.Annotations["note"] = "of no concern"
	j.Put(again)
	g.Expect(writes).To(BeZero())
	j.Put(work("a", 1))
	g.Expect(kept()).To(BeEmpty(), "and it is taken back")
}

// TestTheJournalHasWhatAGenerationAsksForNow covers a hub that was restored from a backup and then changed otherwise:
// it assigns a generation a second time.
func TestTheJournalHasWhatAGenerationAsksForNow(t *testing.T) {
	t.Parallel()
	g, s := NewWithT(t), newShelf(t)
	asking := func(manifest string) *workv1alpha1.Work {
		w := work("a", 6)
		w.Spec.Workload.Manifests[0].Raw = []byte(manifest)
		return w
	}
	const now = `{"kind": "Secret", "data": "<&>"}`
	j, _, _ := s.open("edge")
	j.Begin(namespace)
	j.Put(asking(`{"kind":"ConfigMap"}`))
	j.Put(asking(now))
	j, _, records := Open(Options{Directory: s.directory, Cluster: "edge", Clock: clock.RealClock{}, Registry: prometheus.NewRegistry(), Log: logr.Discard()})
	g.Expect(records).To(HaveLen(1))
	g.Expect(records[0].Work.Spec.Workload.Manifests[0].Raw).To(MatchJSON(now))
	j.replace = func(string, []byte) error { return errors.New("it is written again") }
	j.Put(asking(now))
	g.Expect(j.failing).To(BeFalse())
	j.Put(asking(`{"kind":"ConfigMap"}`))
	g.Expect(j.failing).To(BeTrue())
}

func TestTheJournalOfAnotherClusterIsNotUsed(t *testing.T) {
	t.Parallel()
	g, s := NewWithT(t), newShelf(t)
	j, _, _ := s.open("edge")
	j.Begin(namespace)
	j.Put(work("a", 1))

	j, where, names := s.open("other")
	g.Expect(where).To(BeEmpty())
	g.Expect(names).To(BeEmpty())
	j.Begin("karmada-es-other")
	_, where, names = s.open("other")
	g.Expect(where).To(Equal("karmada-es-other"))
	g.Expect(names).To(BeEmpty())
}

func TestWithAKeyNothingIsReadable(t *testing.T) {
	t.Parallel()
	g, s := NewWithT(t), newShelf(t)
	o := Options{
		Directory: s.directory, Cluster: "edge", Clock: clock.RealClock{}, Registry: prometheus.NewRegistry(),
		Key: entry.NewKey([]byte("secret")),
	}
	j, _, _ := Open(o)
	j.Begin(namespace)
	j.Put(work("a", 1))
	for _, name := range s.files(g) {
		text, err := os.ReadFile(filepath.Join(s.directory, name))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(text)).NotTo(ContainSubstring("Secret"))
	}
	_, where, records := Open(o)
	g.Expect(where).To(Equal(namespace))
	g.Expect(records).To(HaveLen(1))
}
