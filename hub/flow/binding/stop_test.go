package binding

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/flow/binding/staging"
	"fairlead.dev/test/builder"
)

// TestStoppingHubStopsRendering checks that a hub which stops while it renders for many clusters stops after the present one, and
// reports no cluster as failed.
func TestStoppingHubStopsRendering(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ctx, stop := context.WithCancel(t.Context())
	template := builder.MakeDeployment("shop", "web").Obj()
	b := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "web", Labels: map[string]string{contract.ResourceBindingPermanentIDLabel: "1"},
	}}
	b.Spec.Replicas, b.Spec.ReplicaRequirements = 3, &workv1alpha2.ReplicaRequirements{}
	b.Spec.Placement = &policyv1alpha1.Placement{ReplicaScheduling: &policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: policyv1alpha1.Divided}}
	s := &scope{binding: b, template: template, clusters: map[string]*clusterv1alpha1.Cluster{}, keep: sets.Set[string]{}}
	for _, name := range []string{"one", "two", "three"} {
		s.clusters[name] = &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
		s.targets = append(s.targets, workv1alpha2.TargetCluster{Name: name, Replicas: 1})
	}
	rendered := 0
	s.materials = &materials{
		unstaged: staging.Material{Template: template, Live: true},
		revise: func(*unstructured.Unstructured, int32) (*unstructured.Unstructured, error) {
			rendered++
			stop()
			return nil, context.Canceled // like the call of a webhook
		},
	}
	r := &reconciler{kind: kube.ResourceBindings(), interpreter: native.New()}
	out, err := r.render(ctx, s, s.targets)
	g.Expect(out.works).To(BeEmpty())
	g.Expect(err).To(MatchError(context.Canceled))
	g.Expect(rendered).To(Equal(1))
	g.Expect(out.failures).To(BeEmpty())
}

// silent is an interpreter that does not answer, and counts the calls.
type silent struct {
	interpreter.Interpreter
	asked int
}

func (s *silent) ReviseReplicas(context.Context, *unstructured.Unstructured, int32) (*unstructured.Unstructured, error) {
	s.asked++
	return nil, interpreter.Unanswered(errors.New("no answer within 10s"))
}

// TestUnansweredWebhookIsCalledOnce checks that a binding of many clusters waits only once for a webhook that hangs.
func TestUnansweredWebhookIsCalledOnce(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	kinds := &silent{Interpreter: native.New()}
	template := builder.MakeDeployment("shop", "web").Obj()
	set := revise(t.Context(), kinds, template.GroupVersionKind())
	for range 50 {
		_, err := set(template, 1)
		g.Expect(interpreter.IsUnanswered(err)).To(BeTrue())
	}
	g.Expect(kinds.asked).To(Equal(1))
}
