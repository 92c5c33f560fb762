package revision

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/common/contract"
	"fairlead.dev/common/override"
)

// RulesKey is the data key in a Secret of rules.
const RulesKey = "rules"

// storedRules are the rules of ClusterOverridePolicies of a revision, as stored in their Secret.
type storedRules struct {
	// Rules are the rules of the main part, then those of each dependent.
	Rules [][]override.Rule `json:"rules"`
}

// RulesName returns the name of the Secret in contract.ClusterNamespace with the rules of ClusterOverridePolicies for
// a revision of a namespaced rollout: they reveal what is sent to clusters that the namespace may not use, and
// readers of its Secrets may not read such policies. There is none if no such policy selects the revision's objects.
// The name contains the UID of the rollout, so that another rollout of the same name never finds leftovers.
func RulesName(rollout metav1.Object, number int64) string {
	return "rollout-rules-" + string(rollout.GetUID()) + "-r" + strconv.FormatInt(number, 10)
}

// RulesOf identifies the rollout of a Secret of rules, so that the hub can find the Secrets of deleted rollouts.
type RulesOf struct {
	// Rollout is its namespace and name, and UID its UID.
	Rollout types.NamespacedName
	UID     types.UID
	// Revision is the revision's number.
	Revision int64
}

// RulesOfSecret reads that from the metadata of a Secret; false if the metadata lack it.
func RulesOfSecret(secret metav1.Object) (RulesOf, bool) {
	namespace, name, _ := strings.Cut(secret.GetAnnotations()[contract.RevisionOfAnnotation], "/")
	out := RulesOf{
		Rollout: types.NamespacedName{Namespace: namespace, Name: name}, UID: types.UID(secret.GetLabels()[contract.RolloutUIDLabel]),
		Revision: Parse(secret.GetAnnotations()[contract.RevisionAnnotation]).Number,
	}
	isOf := &metav1.ObjectMeta{UID: out.UID}
	return out, namespace != "" && name != "" && out.UID != "" && out.Revision > 0 && secret.GetName() == RulesName(isOf, out.Revision)
}

// rulesSecret returns the Secret with the rules of a content.
func rulesSecret(rollout metav1.Object, number int64, content Content, rules [][]override.Rule) (*corev1.Secret, error) {
	data, err := pack(storedRules{Rules: rules})
	if err != nil {
		return nil, err
	}
	hash, err := content.Hash()
	if err != nil {
		return nil, err
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: contract.ClusterNamespace, Name: RulesName(rollout, number),
			Labels: map[string]string{contract.SystemLabel: contract.LabelTrue, contract.RolloutUIDLabel: string(rollout.GetUID())},
			Annotations: map[string]string{
				contract.RevisionOfAnnotation: rollout.GetNamespace() + "/" + rollout.GetName(),
				contract.RevisionAnnotation:   ID{Number: number, Hash: hash}.String(),
			},
		},
		Type: SecretType, Immutable: new(true), Data: map[string][]byte{RulesKey: data},
	}, nil
}

// withoutClusterRules returns the content without the rules of ClusterOverridePolicies, and these rules per part; nil
// if there are none. It modifies nothing.
func (c Content) withoutClusterRules() (Content, [][]override.Rule) {
	out, found := c, false
	rules := make([][]override.Rule, 0, 1+len(c.Dependents))
	split := func(p *Part) {
		var ofCluster, others []override.Rule
		for i := range p.Rules {
			if p.Rules[i].Namespace == "" {
				ofCluster = append(ofCluster, p.Rules[i])
			} else {
				others = append(others, p.Rules[i])
			}
		}
		p.Rules, rules, found = others, append(rules, ofCluster), found || len(ofCluster) > 0
	}
	out.Dependents = slices.Clone(c.Dependents)
	split(&out.Main)
	for i := range out.Dependents {
		split(&out.Dependents[i])
	}
	if !found {
		return c, nil
	}
	return out, rules
}

// withClusterRules returns the content with the rules of ClusterOverridePolicies from a Secret, which apply before
// the others. It modifies nothing.
func (c Content) withClusterRules(data []byte) (Content, error) {
	if len(data) == 0 {
		return Content{}, errors.New("the rules of ClusterOverridePolicies in it are missing")
	}
	var read storedRules
	if err := unpack(data, &read); err != nil {
		return Content{}, fmt.Errorf("reading the rules of ClusterOverridePolicies: %w", err)
	}
	if len(read.Rules) != 1+len(c.Dependents) {
		return Content{}, fmt.Errorf("%w: there are rules of ClusterOverridePolicies for %d objects, and it has %d", ErrMismatch, len(read.Rules), 1+len(c.Dependents))
	}
	out := c
	out.Dependents = slices.Clone(c.Dependents)
	out.Main.Rules = slices.Concat(read.Rules[0], c.Main.Rules)
	for i := range out.Dependents {
		out.Dependents[i].Rules = slices.Concat(read.Rules[i+1], c.Dependents[i].Rules)
	}
	return out, nil
}
