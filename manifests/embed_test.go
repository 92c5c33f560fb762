package manifests

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"fairlead.dev/common/contract"
)

func TestFilesAreReadInOrder(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]func() ([]*unstructured.Unstructured, error){
		"CRDs": CRDs, "RBAC": RBAC, "policies": Policies, "flow": Flow,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			objects, err := read()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(objects).NotTo(BeEmpty())
			var names []string
			for _, obj := range objects {
				g.Expect(obj.GetAPIVersion()).NotTo(BeEmpty())
				names = append(names, fmt.Sprintf("%s %s/%s", obj.GetKind(), obj.GetNamespace(), obj.GetName()))
			}
			g.Expect(slices.IsSorted(names)).To(BeTrue(), "%v", names)
			g.Expect(slices.Compact(slices.Clone(names))).To(Equal(names), "each object is there once")
		})
	}
}

func TestTypedCRDsAreAllOfThem(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	objects, err := CRDs()
	g.Expect(err).NotTo(HaveOccurred())
	typed, err := TypedCRDs()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(typed).To(HaveLen(len(objects)))
	for i := range typed {
		g.Expect(typed[i].Name).To(Equal(objects[i].GetName()))
		g.Expect(typed[i].Spec.Versions).NotTo(BeEmpty())
	}
}

// The files cannot use the constants of the contract, so this says that they agree.
func TestFilesUseTheNamesOfTheContract(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	policies, err := Policies()
	g.Expect(err).NotTo(HaveOccurred())
	ofAgents := 0
	for _, p := range policies {
		g.Expect(p.GetLabels()).To(HaveKeyWithValue(contract.SystemLabel, contract.LabelTrue))
		if p.GetKind() != "ValidatingAdmissionPolicy" || !strings.HasPrefix(p.GetName(), "agent-") {
			continue
		}
		ofAgents++
		conditions, _, err := unstructured.NestedSlice(p.Object, "spec", "matchConditions")
		g.Expect(err).NotTo(HaveOccurred())
		// All conditions must hold for a policy to look, so one that names the agents bounds it to them; the others only spare work.
		g.Expect(conditions).To(ContainElement(HaveKeyWithValue("expression", HavePrefix("'"+contract.AgentGroup+"' in request.userInfo.groups"))), p.GetName())
	}
	g.Expect(ofAgents).NotTo(BeZero())
	roles, err := RBAC()
	g.Expect(err).NotTo(HaveOccurred())
	var subjects []any
	for _, r := range roles {
		of, _, err := unstructured.NestedSlice(r.Object, "subjects")
		g.Expect(err).NotTo(HaveOccurred())
		subjects = append(subjects, of...)
	}
	g.Expect(subjects).To(ConsistOf(HaveKeyWithValue("name", contract.BootstrapGroup), HaveKeyWithValue("name", contract.UsedTokenGroup),
		HaveKeyWithValue("name", "system:anonymous"), HaveKeyWithValue("name", contract.AgentGroup), HaveKeyWithValue("name", "system:authenticated")))
}
