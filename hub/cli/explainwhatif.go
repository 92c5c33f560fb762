package cli

import (
	"errors"
	"fmt"

	"sigs.k8s.io/yaml"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
)

// readPolicies reads the policies in files.
func readPolicies(files []string) ([]policyv1alpha1.Policy, error) {
	var out []policyv1alpha1.Policy
	for _, file := range files {
		err := eachDocument(file, func(kind string, document []byte) error {
			p, err := readPolicy(kind, document)
			out = append(out, p)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if len(out) == 0 {
		return nil, errors.New("there is no policy in the files of -f")
	}
	return out, nil
}

func readPolicy(kind string, document []byte) (policyv1alpha1.Policy, error) {
	var p policyv1alpha1.Policy
	switch kind {
	case policyv1alpha1.KindPropagationPolicy:
		p = &policyv1alpha1.PropagationPolicy{}
	case policyv1alpha1.KindClusterPropagationPolicy:
		p = &policyv1alpha1.ClusterPropagationPolicy{}
	default:
		return nil, fmt.Errorf("it holds a %s; --what-if takes PropagationPolicies and ClusterPropagationPolicies", kind)
	}
	if err := yaml.UnmarshalStrict(document, p); err != nil {
		return nil, fmt.Errorf("the %s cannot be read: %w", kind, err)
	}
	return p, nil
}
