package quota

import (
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/common/contract"
)

func TestPartOfSaysWhatIsNoPart(t *testing.T) {
	t.Parallel()
	_, _, ok := PartOf(&metav1.ObjectMeta{Labels: map[string]string{contract.FederatedResourceQuotaNameLabel: "all"}})
	NewWithT(t).Expect(ok).To(BeFalse())
}
