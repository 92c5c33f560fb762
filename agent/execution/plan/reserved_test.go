package plan_test

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/runtime"

	"sigs.k8s.io/yaml"

	"fairlead.dev/agent/execution/plan"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

func TestNoWorkLetsOperatorsIn(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		manifest string
		want     bool // that it is applied
	}{
		"the account":           {manifest: `{apiVersion: v1, kind: ServiceAccount, metadata: {namespace: karmada-system, name: fairlead-connect}}`},
		"the owner's rules":     {manifest: `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: karmada-system, name: fairlead-connect}, data: {operators: "user:eve"}}`},
		"the owner's last word": {manifest: `{apiVersion: v1, kind: Secret, metadata: {namespace: karmada-system, name: fairlead-agent, annotations: {fairlead.dev/operators-last-word: "x"}}}`},
		"its rights":            {manifest: `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: fairlead-connect}}`},
		"them in old words":     {manifest: `{apiVersion: rbac.authorization.k8s.io/v1beta1, kind: ClusterRole, metadata: {name: fairlead-connect}}`},
		"its rights in one":     {manifest: `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {namespace: shop, name: fairlead-connect-as-argo}}`},
		"another binding of the account": {
			manifest: `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: x}, roleRef: {name: cluster-admin}, subjects: [{kind: User, name: a}, {kind: ServiceAccount, namespace: karmada-system, name: fairlead-connect}]}`,
		},
		"one of it as a user":   {manifest: `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {namespace: shop, name: x}, subjects: [{kind: User, name: "system:serviceaccount:karmada-system:fairlead-connect"}]}`},
		"one of its group":      {manifest: `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {namespace: shop, name: x}, subjects: [{kind: Group, name: "system:serviceaccounts:karmada-system"}]}`},
		"one of its rights":     {manifest: `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: x}, roleRef: {name: fairlead-connect}, subjects: [{kind: User, name: eve}]}`},
		"its token in a Secret": {manifest: `{apiVersion: v1, kind: Secret, metadata: {namespace: karmada-system, name: x, annotations: {kubernetes.io/service-account.name: fairlead-connect}}}`},
		"pods with its token": {
			manifest: `{apiVersion: batch/v1, kind: CronJob, metadata: {namespace: karmada-system, name: x}, spec: {jobTemplate: {spec: {template: {spec: {serviceAccountName: fairlead-connect}}}}}}`,
		},

		"an account of that name elsewhere": {want: true, manifest: `{apiVersion: v1, kind: ServiceAccount, metadata: {namespace: shop, name: fairlead-connect}}`},
		"a binding of others":               {want: true, manifest: `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: x}, roleRef: {name: view}, subjects: [{kind: Group, name: "fairlead:ops"}]}`},
		"a name that only begins so":        {want: true, manifest: `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: fairlead-connections}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			raw, err := yaml.YAMLToJSON([]byte(tc.manifest))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(json.Valid(raw)).To(BeTrue())
			work := &workv1alpha1.Work{}
			work.Spec.Workload.Manifests = []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: raw}}}
			m := plan.Parse(work)[0]
			if tc.want {
				g.Expect(m.Problem).NotTo(HaveOccurred())
				return
			}
			g.Expect(m.Problem).To(MatchError(ContainSubstring("`agent operators`")))
			g.Expect(m.Desired).To(BeNil())
		})
	}
}
