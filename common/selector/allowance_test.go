package selector

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/common/contract"
)

// TestTheKeyOfAnAllowanceTellsItFromOthers checks keys of long selectors: messages repeat only the beginning of a
// selector, which two may share.
func TestTheKeyOfAnAllowanceTellsItFromOthers(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	of := func(namespace, selector string) *Allowance {
		return AllowanceOf(&metav1.ObjectMeta{Name: namespace, Annotations: map[string]string{contract.ClustersAnnotation: selector}})
	}
	long := "site in (" + strings.Repeat("shop,", ofSelector) + "%)"
	keys := map[string]bool{(*Allowance)(nil).Key(): true}
	allowances := []*Allowance{
		of("a", ""), of("a", "site=shop"), of("a", "site=ship"), of("b", "site=shop"),
		of("a", strings.Replace(long, "%", "shop", 1)), of("a", strings.Replace(long, "%", "ship", 1)), of("b", strings.Replace(long, "%", "ship", 1)),
	}
	for _, a := range allowances {
		keys[a.Key()] = true
		g.Expect(len(a.Key())).To(BeNumerically("<", 2*ofSelector+200))
	}
	g.Expect(keys).To(HaveLen(len(allowances) + 1))
	g.Expect(of("a", long).Key()).To(Equal(of("a", long).Key()))
}
