package binding

import (
	"math/rand/v2"
	"strconv"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/quota"
	"fairlead.dev/test/builder"
)

// requests returns requests of so many CPUs, or none.
func requests(cpus int) *workv1alpha2.ReplicaRequirements {
	if cpus == 0 {
		return nil
	}
	return &workv1alpha2.ReplicaRequirements{ResourceRequest: corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(int64(cpus), resource.DecimalSI)}}
}

// anyRequests returns a spec with random requests.
func anyRequests(random *rand.Rand) workv1alpha2.ResourceBindingSpec {
	out := workv1alpha2.ResourceBindingSpec{Replicas: int32(random.IntN(3)), ReplicaRequirements: requests(random.IntN(3))}
	out.Resource = workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}
	for i := range random.IntN(3) {
		c := workv1alpha2.Component{Name: strconv.Itoa(i), Replicas: int32(random.IntN(3))}
		if r := requests(random.IntN(3)); r != nil {
			c.ReplicaRequirements = &workv1alpha2.ComponentReplicaRequirements{ResourceRequest: r.ResourceRequest}
		}
		out.Components = append(out.Components, c)
	}
	return out
}

// TestOriginDeterminesQuotaCheck checks the quotas for Works of random bindings. Works with the same mark must have the same result, so
// that a Work that was written is within the quotas.
func TestOriginDeterminesQuotaCheck(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	random := rand.New(rand.NewPCG(11, 27))
	template := builder.MakeDeployment("shop", "web").Replicas(2).Set([]any{map[string]any{
		"name": "web", "image": "nginx:1", "resources": map[string]any{"requests": map[string]any{"cpu": "1", "memory": "1Gi"}},
	}}, "spec", "template", "spec", "containers").Obj()
	raw, err := template.MarshalJSON()
	g.Expect(err).NotTo(HaveOccurred())
	work := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-es-edge-1", Name: "web"}}
	work.Spec.Workload.Manifests = []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: raw}}}
	r := &reconciler{kind: kube.ResourceBindings(), program: "p", interpreter: native.New()}
	verdicts, seen := map[string]bool{}, map[bool]int{}
	for range 4000 {
		b := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-deployment", Annotations: map[string]string{}}}
		b.Spec = anyRequests(random)
		if random.IntN(2) == 0 {
			admitted := anyRequests(random)
			b.Annotations[contract.AdmittedRequestsAnnotation] = quota.Admit(&admitted)
		}
		target := workv1alpha2.TargetCluster{Name: "edge-1", Replicas: int32(random.IntN(4))}
		b.Spec.Clusters = []workv1alpha2.TargetCluster{target}
		list := make([]policyv1alpha1.FederatedResourceQuota, random.IntN(3))
		for i := range list {
			list[i].Spec.Overall = corev1.ResourceList{}
			for _, name := range []corev1.ResourceName{"cpu", "requests.cpu", "memory", "pods", "count/secrets"}[random.IntN(5):][:1] {
				list[i].Spec.Overall[name] = *resource.NewQuantity(random.Int64N(3), resource.DecimalSI)
			}
		}
		s := &scope{binding: b, quotas: quota.For(list, nil)}
		within, _ := r.withinQuotas(t.Context(), s, target, work)
		digest, err := r.digest(s, "t")
		g.Expect(err).NotTo(HaveOccurred())
		mark := digest.Of(work, target, nil)
		if before, ok := verdicts[mark]; ok {
			seen[within]++
			g.Expect(within).To(Equal(before))
		}
		verdicts[mark] = within
	}
	g.Expect(seen[true]).To(BeNumerically(">", 50))
	g.Expect(seen[false]).To(BeNumerically(">", 50))
}
