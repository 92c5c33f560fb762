package quotas

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/eventsink"
)

// TestAConflictHidesNoQuotaThatIsExceeded checks that an exceeded quota is reported even if a Work could not be written
// at first.
func TestAConflictHidesNoQuotaThatIsExceeded(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var told []string
	r := &Reconciler{events: func(e eventsink.Event) { told = append(told, e.Reason) }}
	amount := func(text string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(text)}
	}
	s := &scope{quota: &policyv1alpha1.FederatedResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "budget"},
		Status:     policyv1alpha1.FederatedResourceQuotaStatus{Overall: amount("2"), OverallUsed: amount("3")},
	}}
	behind := kube.CacheBehind(policyv1alpha1.GroupVersion.WithResource("federatedresourcequotas").GroupResource(), "budget")
	r.tell(s, behind)
	g.Expect(told).To(BeEmpty(), "it is looked at again")
	r.tell(s, nil)
	r.tell(s, nil)
	g.Expect(told).To(Equal([]string{"QuotaExceeded"}))
	r.tell(s, errors.New("no answer"))
	g.Expect(told).To(Equal([]string{"QuotaExceeded", "SyncWorkFailed"}))
}
