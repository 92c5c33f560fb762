package attach

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
)

// Origin is what a binding says that its workload needs was read from, by what tells one from another: as long as none of it changes,
// the same is read.
type Origin struct {
	// Program is the program that reads.
	Program string
	// Rules is the version of the rules of the template's kind.
	Rules string
	// Binding has the fingerprint of the template, and the list itself: a list that somebody else wrote has no origin.
	Binding workv1alpha2.Binding
}

// Digest returns a hash of an origin; empty if something of it is not known.
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
