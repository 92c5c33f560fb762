package decide

import (
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/quota"
)

// exceeded says which quota an application would exceed in some clusters, with all that it requests; nothing if none.
// What it uses so far is what was admitted: more may be asked for since.
func exceeded(in Input, spec *workv1alpha2.ResourceBindingSpec, targets []workv1alpha2.TargetCluster) string {
	if len(in.Quotas) == 0 {
		return ""
	}
	return quota.Exceeded(in.Quotas, quota.Usage(quota.Admitted(spec, in.AdmittedRequests), in.Past, spec.Clusters), quota.Usage(spec, in.Past, targets))
}

// admit returns what is admitted of the requests of an application: all that it asks for, if the quotas allow that in
// the clusters that it has from now on; else what was.
func admit(in Input, d Decision) string {
	switch {
	case len(in.Quotas) == 0:
		return ""
	case in.AdmittedRequests != "" && exceeded(in, in.Spec, d.Targets) != "":
		return in.AdmittedRequests
	default:
		return quota.Admit(in.Spec)
	}
}
