package decide

import (
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/quota"
)

// exceeded returns which quota an application would exceed with all its requests in the targets; empty if none. Its usage so far is what
// was admitted, since its requests may have grown.
func exceeded(in Input, spec *workv1alpha2.ResourceBindingSpec, targets []workv1alpha2.TargetCluster) string {
	if len(in.Quotas) == 0 {
		return ""
	}
	return quota.Exceeded(in.Quotas, quota.Usage(quota.Admitted(spec, in.AdmittedRequests), in.Past, spec.Clusters), quota.Usage(spec, in.Past, targets))
}

// tooManyRequests returns whether the annotation admitted-requests would be too long, as for an application that requests thousands of
// resources. Such requests cannot be compared with quotas.
func tooManyRequests(in Input) bool {
	return len(in.Quotas) > 0 && len(quota.Admit(in.Spec)) > contract.MaxAdmittedRequests
}

// admit returns the admitted requests of an application: all of them if the quotas allow that in its new targets; otherwise those admitted
// before.
func admit(in Input, d Decision) string {
	switch {
	case len(in.Quotas) == 0:
		return ""
	case tooManyRequests(in) && (in.AdmittedRequests == "" || len(in.AdmittedRequests) > contract.MaxAdmittedRequests):
		return quota.Admit(&workv1alpha2.ResourceBindingSpec{}) // an empty string would mean all
	case tooManyRequests(in), in.AdmittedRequests != "" && exceeded(in, in.Spec, d.Targets) != "":
		return in.AdmittedRequests
	default:
		return quota.Admit(in.Spec)
	}
}
