package attach

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
)

// Origin identifies everything from which the dependencies on a binding were read. While none of it changes, reading again gives the same
// result.
type Origin struct {
	// Program identifies the version of the program that reads.
	Program string
	// Rules is the version of the interpretation rules for the template's kind.
	Rules string
	// Binding has the fingerprint of the template, and the list itself, so that the origin of a list by another writer does not match.
	Binding workv1alpha2.Binding
}

// Digest returns a hash of an origin; empty if any of it is not known.
func (o Origin) Digest() string {
	annotations, ref := o.Binding.GetAnnotations(), o.Binding.BindingSpec().Resource
	fingerprint, list := annotations[contract.TemplateFingerprintAnnotation], annotations[contract.DependenciesAnnotation]
	if o.Program == "" || fingerprint == "" || list == "" {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", []string{
		o.Program, o.Rules, fingerprint, ref.APIVersion, ref.Kind, ref.Namespace, ref.Name, string(ref.UID), list,
	}))
	return hex.EncodeToString(sum[:10])
}
