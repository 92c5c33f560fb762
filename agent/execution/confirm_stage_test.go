package execution_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"fairlead.dev/agent/execution"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/common/kube"
	"fairlead.dev/test/cluster"
	"fairlead.dev/test/stagetest"
)

// lateWorks is a transport to the hub that can delay the watch of Works.
type lateWorks struct {
	mu sync.Mutex
	// late is closed to deliver the delayed events; nil if there is no delay.
	late chan struct{}
}

// begin delays the watch of Works until end is called.
func (l *lateWorks) begin() (end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	late := make(chan struct{})
	l.late = late
	return sync.OnceFunc(func() { close(late) })
}

func (l *lateWorks) wait() {
	l.mu.Lock()
	late := l.late
	l.mu.Unlock()
	if late != nil {
		<-late
	}
}

func (l *lateWorks) wrap(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(req)
			if err == nil && req.URL.Query().Get("watch") != "" && strings.HasSuffix(req.URL.Path, "/works") {
				response.Body = lateBody{response.Body, l}
			}
			return response, err
		})
	})
	return config
}

type lateBody struct {
	io.ReadCloser

	late *lateWorks
}

func (b lateBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.late.wait()
	return n, err
}

// ending is a journal that records which Works the agent has seen with a deletionTimestamp.
type ending struct {
	removals

	mu    sync.Mutex
	works map[string]bool
}

func (e *ending) Put(work *workv1alpha1.Work) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if work.DeletionTimestamp != nil {
		e.works[work.Name] = true
	}
	return true
}

func (e *ending) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.works)
}

// An operator takes back one of two deletions that are held, and approves what is left. The Cluster is heard before the Works are.
func TestAWithdrawnDeletionIsNotDoneThoughTheRestIsApproved(t *testing.T) {
	t.Parallel()
	g, w, works := NewWithT(t), unstarted(t), &lateWorks{}
	seen := &ending{works: map[string]bool{}}
	w.cluster, w.journal = "approved-in-part", seen
	g.Expect(w.client.Create(t.Context(), &clusterv1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: w.cluster},
		Spec:       clusterv1alpha1.ClusterSpec{SyncMode: clusterv1alpha1.Pull, DeletionBrake: &clusterv1alpha1.DeletionBrake{}},
	})).To(Succeed())
	c := cluster.Shared(t, cluster.Options{Profile: cluster.Hub})
	w.startBetween(t, works.wrap(c.Config), c.Config, native.New())
	stays := w.work(t, "stays", w.configMap("stays", nil))
	goes := w.work(t, "goes", w.configMap("goes", nil))
	w.isApplied(t, stays)
	w.isApplied(t, goes)
	first := w.get(g, "stays").UID
	for _, work := range []*workv1alpha1.Work{stays, goes} {
		w.end(t, work, contract.DeletionRemoved)
	}
	g.Eventually(seen.count).WithTimeout(waitTimeout).Should(Equal(2))
	var held metav1.Condition
	g.Eventually(func() string {
		held, _ = w.executor.Held()
		return held.Message
	}).WithTimeout(waitTimeout).Should(HavePrefix("2 of 2 objects"))

	end := works.begin()
	defer end()
	g.Expect(kube.WithdrawDeletion(t.Context(), w.client, stays, "test")).To(Succeed())
	w.approve(t, held.LastTransitionTime.Time)
	w.isGone(t, goes)
	g.Expect(w.requests.about("DELETE")).To(ConsistOf(ContainSubstring("/configmaps/goes")))
	end()
	w.isGone(t, stays)
	g.Expect(w.requests.about("DELETE")).To(HaveLen(1))
	g.Expect(w.get(g, "stays").UID).To(Equal(first))
}

// TestNothingIsMadeAnewByTheJournal starts an agent without its hub, on a journal whose manifest is older than the
// object in the member.
func TestNothingIsMadeAnewByTheJournal(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), unstarted(t)
	work := w.work(t, "settings", w.frozen("2", toBeMadeAnew()))
	live := w.marked("settings")
	live.Data, live.Immutable = map[string]string{"a": "2"}, new(true)
	g.Expect(w.client.Create(t.Context(), live)).To(Succeed())
	older := work.DeepCopy()
	older.Generation, older.Spec.Workload.Manifests = 0, raw(t, w.frozen("1", toBeMadeAnew()))
	w.kept = []execution.Kept{{Work: older}}
	var away atomic.Bool
	away.Store(true)
	c := cluster.Shared(t, cluster.Options{Profile: cluster.Hub})
	w.startBetween(t, stagetest.Intercept(c.Config, func(req *http.Request) (*http.Response, error) {
		if away.Load() && strings.Contains(req.URL.Path, "/works") {
			return nil, errors.New("nobody answers")
		}
		return nil, nil
	}), c.Config, native.New())
	g.Expect(w.isNotApplied(t, work)).To(ContainSubstring("the object is replaced once the hub can be reached"))
	g.Expect(w.requests.about("DELETE")).To(BeEmpty())

	away.Store(false)
	w.isApplied(t, work)
	g.Expect(w.requests.about("DELETE")).To(BeEmpty())
	g.Expect(w.get(g, "settings").UID).To(Equal(live.UID))
}
