package rollout

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/revision"
)

// set says how revision 2 fares in the first cluster: healthy, unhealthy, refused or silent.
func (w *world) set(how string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fares[w.clusters[0]+" 2"] = how
}

// goes takes a cluster offline, or brings it back.
func (w *world) goes(index int, online bool) {
	w.reports(index, online)
	w.heard(w.clusters[index], online)
}

// reports says whether a cluster reports on its Works, heard from or not.
func (w *world) reports(index int, does bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.offline[w.clusters[index]] = !does
}

// withhold has no Work made from now on, or made again.
func (w *world) withhold(is bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.withheld = is
}

// make makes a Work.
func (w *world) make(ctx context.Context, work *workv1alpha1.Work) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.withheld {
		return errWithheld
	}
	return w.client.Create(ctx, work)
}

// errWithheld says that no Work is made.
var errWithheld = errors.New("no Work is made")

// heard has a Cluster say whether it is heard from.
func (w *world) heard(name string, online bool) {
	w.t.Helper()
	eventually(w.t, func(g Gomega) {
		c := &clusterv1alpha1.Cluster{}
		g.Expect(w.client.Get(w.t.Context(), client.ObjectKey{Name: name}, c)).To(Succeed())
		status, reason := metav1.ConditionTrue, clusterv1alpha1.ReasonClusterReady
		if !online {
			status, reason = metav1.ConditionUnknown, "ClusterStatusUnknown"
		}
		c.Status.Conditions = []metav1.Condition{{Type: clusterv1alpha1.ClusterReady, Status: status, Reason: reason, LastTransitionTime: metav1.Now()}}
		g.Expect(w.client.Status().Update(w.t.Context(), c)).To(Succeed())
	})
}

// deliver writes the Works that the rollout wants, and reports on them, until the test ends.
func (w *world) deliver() {
	ticker := time.NewTicker(30 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-w.t.Context().Done():
			return
		case <-ticker.C:
			for _, name := range w.clusters {
				_ = w.deliverTo(w.t.Context(), name) // the next round tries again
			}
		}
	}
}

func (w *world) deliverTo(ctx context.Context, name string) error {
	r := &fairleadv1alpha1.StagedRollout{}
	if err := w.client.Get(ctx, w.key(), r); err != nil {
		return err
	}
	err := w.deliverWork(ctx, name, r, w.key(), w.workName())
	if w.config != nil {
		key := types.NamespacedName{Namespace: w.namespace, Name: "config-configmap"}
		err = errors.Join(err, w.deliverWork(ctx, name, r, key, contract.WorkName("ConfigMap", w.namespace, "config")))
	}
	return err
}

// deliverWork writes the Work of a binding, that of the application or of what it needs, and reports on it.
func (w *world) deliverWork(ctx context.Context, name string, r *fairleadv1alpha1.StagedRollout, key types.NamespacedName, workName string) error {
	b := &workv1alpha2.ResourceBinding{}
	if err := w.client.Get(ctx, key, b); err != nil {
		return err
	}
	fares, content := "", "the same"
	work := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{
		Namespace: executionNamespace(name), Name: workName, Labels: maps.Clone(b.Labels),
		Annotations: map[string]string{contract.ResourceBindingNamespaceAnnotation: b.Namespace, contract.ResourceBindingNameAnnotation: b.Name},
	}}
	if key != w.key() {
		fares = "config "
		work.Annotations[contract.RevisionOfAnnotation] = w.key().String()
	}
	err := w.client.Get(ctx, client.ObjectKeyFromObject(work), work)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	have := revision.Parse(work.Annotations[contract.RevisionAnnotation])
	if want := revision.NewPlan(&r.Status).Wanted(name, have); want.Hash != have.Hash {
		if w.config == nil || key != w.key() {
			content = want.String()
		}
		w.mu.Lock()
		withheld, unconcerned := w.fares[fmt.Sprintf("%s%s %d", fares, name, want.Number)] == "withheld", w.unconcerned && err == nil
		w.mu.Unlock()
		if withheld {
			return errWithheld
		}
		work.Annotations[contract.RevisionAnnotation] = want.String()
		since := time.Now()
		if unconcerned {
			since = since.Add(-time.Hour)
		}
		work.Annotations[contract.RevisionSinceAnnotation] = since.UTC().Format(time.RFC3339)
		work.Spec.Workload.Manifests = []workv1alpha1.Manifest{{}}
		work.Spec.Workload.Manifests[0].Raw = []byte(fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web"},"data":{"revision":%q}}`, content))
		have = want
		if err != nil {
			if err := w.make(ctx, work); err != nil {
				return err
			}
		} else if err := w.client.Update(ctx, work); err != nil {
			return err
		}
	} else if err != nil {
		return nil //nolint:nilerr // There is no Work, and is to be none.
	}
	w.mu.Lock()
	how, off := w.fares[fmt.Sprintf("%s%s %d", fares, name, have.Number)], w.offline[name]
	w.mu.Unlock()
	if off {
		return nil
	}
	health, applied, message := workv1alpha1.Healthy, metav1.ConditionTrue, "Manifest has been successfully applied"
	manifest := workv1alpha1.ManifestStatus{Identifier: workv1alpha1.ResourceIdentifier{Version: "v1", Kind: "ConfigMap", Name: "web"}}
	switch how {
	case "unhealthy":
		health = workv1alpha1.Unhealthy
	case "unmounted":
		health, manifest.Identifier.Kind = workv1alpha1.Unhealthy, "PersistentVolumeClaim"
		manifest.Status = &runtime.RawExtension{Raw: []byte(`{"phase":"Pending"}`)}
	case "refused":
		applied, message = metav1.ConditionFalse, `Failed to apply all manifests (0/1): Deployment "web": the member refuses it: Deployment.apps "web" is invalid: spec: no`
	}
	before := work.DeepCopy()
	if work.Status.ObservedGeneration == work.Generation && len(work.Status.Conditions) == 1 && work.Status.Conditions[0].Message == message &&
		work.Status.ManifestStatuses[0].Health == health {
		return nil
	}
	work.Status.ObservedGeneration = work.Generation
	work.Status.Conditions = []metav1.Condition{{
		Type: workv1alpha1.WorkApplied, Status: applied, Reason: "Applied", Message: message, ObservedGeneration: work.Generation, LastTransitionTime: metav1.Now(),
	}}
	manifest.Health = health
	work.Status.ManifestStatuses = []workv1alpha1.ManifestStatus{manifest}
	return w.client.Status().Patch(ctx, work, client.MergeFrom(before))
}
