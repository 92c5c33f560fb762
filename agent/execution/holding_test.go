package execution

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

// holding is an agent with a brake of 3 objects or 20 %, its Cluster, and the Works that it has.
type holding struct {
	*brake
	*WithT

	cluster *clusterv1alpha1.Cluster
	works   []workv1alpha1.Work
	now     time.Time
}

// newHolding begins with fifty Works that do not end.
func newHolding(t *testing.T) *holding {
	t.Helper()
	h := &holding{brake: newBrake(true), WithT: NewWithT(t), cluster: braked(), now: time.Unix(1_700_000_000, 0)}
	h.cluster.Spec.DeletionBrake = &clusterv1alpha1.DeletionBrake{Objects: 3, Percent: 20}
	for i := range 50 {
		h.works = append(h.works, workv1alpha1.Work{})
		h.works[i].UID = types.UID(fmt.Sprint("stays-", i))
		h.works[i].Spec.Workload.Manifests = make([]workv1alpha1.Manifest, 1)
	}
	h.Observe(h.cluster)
	return h
}

// end adds n Works that are being deleted, passes them to the brake once, and returns them.
func (h *holding) end(prefix string, n int) []workv1alpha1.Work {
	these := endingWorks(n)
	for i := range these {
		these[i].Name, these[i].UID = prefix+these[i].Name, types.UID(prefix)+these[i].UID
	}
	h.works = append(h.works, these...)
	h.passing(these)
	return these
}

// passing returns how many of these Works pass the brake now.
func (h *holding) passing(these []workv1alpha1.Work) int {
	out := 0
	for i := range these {
		ok, err := h.Pass(&these[i], 0, func() ([]workv1alpha1.Work, error) { return h.works, nil }, h.now)
		h.Expect(err).NotTo(HaveOccurred())
		if ok {
			out++
		}
	}
	return out
}

// counts makes the brake recount the held deletions after a while.
func (h *holding) counts(after time.Duration) (renewed bool) {
	h.now = h.now.Add(after)
	renewed = h.Recount(h.works, h.now)
	h.tells()
	return renewed
}

// tells writes the brake's condition to the Cluster, as clusterstatus does, and returns the approval that it asks
// for.
func (h *holding) tells() (word string) {
	if said, ok := h.Condition(); ok {
		h.cluster.Status.Conditions = []metav1.Condition{said}
	}
	h.Observe(h.cluster)
	if h.held == nil {
		return ""
	}
	return approval(h.held.since())
}

func (h *holding) said() string {
	if c := meta.FindStatusCondition(h.cluster.Status.Conditions, clusterv1alpha1.ClusterDeletionsHeld); c != nil && c.Status == metav1.ConditionTrue {
		return c.Message
	}
	return ""
}

// answers sets an operator's approval, which the agent observes.
func (h *holding) answers(word string) {
	h.cluster.Annotations = map[string]string{contract.DeletionsApprovedAnnotation: word}
	h.Observe(h.cluster)
	h.tells()
}

// restarts replaces the brake by that of a new agent, which has listed its Works.
func (h *holding) restarts() {
	h.brake = newBrake(true)
	h.Observe(h.cluster)
	h.counts(time.Second)
}
