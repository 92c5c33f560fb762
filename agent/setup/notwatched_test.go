package setup_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/setup"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// long bounds waiting for an informer that was refused: it asks again after up to a minute.
const long = 3 * time.Minute

// watchesOf are the lists and watches of one resource through a transport. A test can end those in progress and hold
// back new ones.
type watchesOf struct {
	resource string

	mu     sync.Mutex
	bodies []io.Closer
	held   chan struct{} // nil if none are held back
}

func (w *watchesOf) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if !strings.HasSuffix(request.URL.Path, "/"+w.resource) || request.Method != http.MethodGet {
			return next.RoundTrip(request)
		}
		w.mu.Lock()
		held := w.held
		w.mu.Unlock()
		if held != nil {
			select {
			case <-held:
			case <-request.Context().Done():
				return nil, request.Context().Err()
			}
		}
		response, err := next.RoundTrip(request)
		if err == nil && request.URL.Query().Get("watch") != "" {
			w.mu.Lock()
			w.bodies = append(w.bodies, response.Body)
			w.mu.Unlock()
		}
		return response, err
	})
}

// end ends the watches that are under way.
func (w *watchesOf) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, body := range w.bodies {
		_ = body.Close() // it may have ended by itself
	}
	w.bodies = nil
}

// hold ends them, and holds others back until the returned function is called.
func (w *watchesOf) hold() (release func()) {
	held := make(chan struct{})
	w.mu.Lock()
	w.held = held
	w.mu.Unlock()
	w.end()
	return func() {
		w.mu.Lock()
		w.held = nil
		w.mu.Unlock()
		close(held)
	}
}

// asUser returns a configuration that impersonates a user of the member, who is bound to a ClusterRole of the same
// name.
func (w *world) asUser(t *testing.T, name string, through *watchesOf) *rest.Config {
	t.Helper()
	g := NewWithT(t)
	g.Expect(w.client.Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}})).To(Succeed())
	g.Expect(w.client.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
	})).To(Succeed())
	config := rest.CopyConfig(w.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: []string{"system:authenticated"}}
	config.Wrap(through.wrap)
	return config
}

// allow sets the verbs that the agent's role grants for ConfigMaps.
func (w *world) allow(t *testing.T, verbs ...string) {
	t.Helper()
	NewWithT(t).Expect(w.client.Update(t.Context(), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "not-watched"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: verbs}},
	})).To(Succeed())
}

// fares returns the reported health of the one object of a Work, and whether it is applied and watched.
func (w *world) fares(g Gomega, work *workv1alpha1.Work) (health workv1alpha1.ResourceHealth, applied, notWatched metav1.Condition) {
	status := w.read(g, work).Status
	if len(status.ManifestStatuses) > 0 {
		health = status.ManifestStatuses[0].Health
	}
	for kind, out := range map[string]*metav1.Condition{workv1alpha1.WorkApplied: &applied, workv1alpha1.WorkNotWatched: &notWatched} {
		if c := meta.FindStatusCondition(status.Conditions, kind); c != nil {
			*out = *c
		}
	}
	return health, applied, notWatched
}

// isWell waits until the one object of a Work is applied, watched and healthy.
func (w *world) isWell(t *testing.T, work *workv1alpha1.Work) {
	t.Helper()
	NewWithT(t).Eventually(func(g Gomega) {
		health, applied, notWatched := w.fares(g, work)
		g.Expect(applied.Status).To(Equal(metav1.ConditionTrue), applied.Message)
		g.Expect(notWatched.Message).To(BeEmpty())
		g.Expect(health).To(Equal(workv1alpha1.Healthy))
	}).WithTimeout(long).Should(Succeed())
}

// TestObjectsThatMayNotBeWatchedAnyMoreAreReadAndNotTakenForWhatTheyWere withdraws the rights to list and watch a
// kind. The agent notices only when the watch is re-established, and the informer continues to serve its old state.
func TestObjectsThatMayNotBeWatchedAnyMoreAreReadAndNotTakenForWhatTheyWere(t *testing.T) {
	t.Parallel()
	g, w, watches := NewWithT(t), newJoined(t, "not-watched"), &watchesOf{resource: "configmaps"}
	member := w.asUser(t, "not-watched", watches)
	all := []string{"get", "list", "watch", "create", "patch", "delete"}
	w.allow(t, all...)
	w.run(t, func(o *setup.Options) { o.Member = member })
	w.place(t)
	work := w.work(t, "settings", w.configMap("settings"))
	w.isWell(t, work)
	change := func(value string) {
		t.Helper()
		settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.member, Name: "settings"}}
		g.Expect(w.client.Patch(t.Context(), settings, client.RawPatch(types.MergePatchType, []byte(`{"data":{"a":"`+value+`"}}`)))).To(Succeed())
	}
	isPutBack := func(g Gomega) {
		settings := &corev1.ConfigMap{}
		g.Expect(w.client.Get(t.Context(), client.ObjectKey{Namespace: w.member, Name: "settings"}, settings)).To(Succeed())
		g.Expect(settings.Data).To(Equal(map[string]string{"a": "1"}))
	}
	change("2")
	g.Eventually(isPutBack).WithTimeout(waitTimeout).Should(Succeed())

	w.allow(t, "get", "create", "patch", "delete")
	release := watches.hold()
	change("3")
	release()
	g.Eventually(func(g Gomega) {
		watches.end() // the API server may have let one begin before it took over the change of the role
		isPutBack(g)
	}).WithTimeout(long).Should(Succeed())
	g.Eventually(func(g Gomega) {
		health, applied, notWatched := w.fares(g, work)
		g.Expect(notWatched.Reason).To(Equal(workv1alpha1.ReasonWatchForbidden))
		g.Expect(notWatched.Message).To(And(ContainSubstring("the kind ConfigMap of v1"), ContainSubstring("get, list and watch")))
		g.Expect(applied.Status).To(Equal(metav1.ConditionTrue), applied.Message)
		g.Expect(health).To(Equal(workv1alpha1.Healthy), "it was read")
	}).WithTimeout(waitTimeout).Should(Succeed())

	w.allow(t, "create", "patch", "delete")
	for round := int64(0); ; round++ {
		preserve := round%2 == 0
		g.Expect(w.client.Patch(t.Context(), work, client.RawPatch(types.MergePatchType, // a change that makes the agent read the object again
			[]byte(`{"spec":{"preserveResourcesOnDeletion":`+map[bool]string{true: "true", false: "false"}[preserve]+`}}`)))).To(Succeed())
		var applied metav1.Condition
		g.Eventually(func(g Gomega) {
			_, applied, _ = w.fares(g, work)
			g.Expect(applied.ObservedGeneration).To(Equal(work.Generation))
		}).WithTimeout(waitTimeout).Should(Succeed())
		if applied.Status == metav1.ConditionFalse { // otherwise the API server has not taken over the change of the role
			g.Expect(applied.Message).To(ContainSubstring("forbidden"))
			break
		}
	}
	g.Eventually(func(g Gomega) {
		health, _, _ := w.fares(g, work)
		g.Expect(health).To(Equal(workv1alpha1.Unknown), "nothing is known of it")
	}).WithTimeout(waitTimeout).Should(Succeed())

	w.allow(t, all...)
	w.isWell(t, work)
	change("4")
	g.Eventually(isPutBack).WithTimeout(waitTimeout).Should(Succeed())
}
