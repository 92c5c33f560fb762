package native

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter/podtemplate"
)

func deployment() rules {
	status := counters{
		nonzero:     []string{"replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas"},
		generations: true,
	}
	return rules{
		dependencies: podDependencies("spec", "template", "spec"),
		replicas:     podTemplateReplicas,
		revise:       reviseField("replicas"),
		retain:       retainDeployment,
		reflect:      status.reflect,
		aggregate:    status.aggregate,
		healthy:      rolledOut,
	}
}

func replicaSet() rules {
	status := counters{always: []string{"replicas"}, nonzero: []string{"readyReplicas", "availableReplicas"}, generations: true}
	return rules{
		dependencies: podDependencies("spec", "template", "spec"),
		replicas:     podTemplateReplicas,
		revise:       reviseField("replicas"),
		reflect:      status.reflect,
		aggregate:    status.aggregate,
		healthy: func(live content) bool {
			return observed(live) && number(contentAt(live, "status"), "availableReplicas") >= number(contentAt(live, "spec"), "replicas")
		},
	}
}

func statefulSet() rules {
	status := counters{
		always:      []string{"replicas", "availableReplicas"},
		nonzero:     []string{"readyReplicas", "currentReplicas", "updatedReplicas"},
		generations: true,
	}
	return rules{
		dependencies: statefulSetDependencies,
		replicas:     podTemplateReplicas,
		revise:       reviseField("replicas"),
		reflect:      status.reflect,
		aggregate:    status.aggregate,
		healthy:      rolledOut,
	}
}

func daemonSet() rules {
	status := counters{
		always:      []string{"currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady"},
		nonzero:     []string{"updatedNumberScheduled", "numberAvailable", "numberUnavailable"},
		generations: true,
	}
	return rules{
		dependencies: podDependencies("spec", "template", "spec"),
		reflect:      status.reflect,
		aggregate:    status.aggregate,
		healthy: func(live content) bool {
			s := contentAt(live, "status")
			return observed(live) &&
				number(s, "updatedNumberScheduled") >= number(s, "desiredNumberScheduled") &&
				number(s, "numberAvailable") >= number(s, "updatedNumberScheduled")
		},
	}
}

// podTemplateReplicas reads spec.replicas, and spec.template for what one needs.
func podTemplateReplicas(template content) (int32, *workv1alpha2.ReplicaRequirements, error) {
	spec := contentAt(template, "spec")
	requirements, err := podTemplateRequirements(spec)
	if err != nil {
		return 0, nil, err
	}
	replicas, err := replicaCount(number(spec, "replicas"))
	return replicas, requirements, err
}

func podTemplateRequirements(spec content) (*workv1alpha2.ReplicaRequirements, error) {
	var podSpec corev1.PodSpec
	if c := contentAt(spec, "template", "spec"); c != nil {
		if err := into(c, &podSpec); err != nil {
			return nil, fmt.Errorf("at spec.template.spec: %w", err)
		}
	}
	return podtemplate.Requirements(&podSpec), nil
}

// replicaCount refuses a number that no binding can carry.
func replicaCount(n int64) (int32, error) {
	if n < 0 || n > 1<<31-1 {
		return 0, fmt.Errorf("%d is not a number of replicas", n)
	}
	return int32(n), nil
}

// reviseField returns a rule that sets a field of the spec, if it is there: a template
// that leaves the number to somebody else keeps doing so.
func reviseField(field string) func(content, int32) error {
	return func(obj content, replicas int32) error {
		spec := contentAt(obj, "spec")
		if _, ok := lookupNumber(spec, field); ok {
			spec[field] = int64(replicas)
		}
		return nil
	}
}

func retainDeployment(desired, live content) error {
	if labelOf(desired, contract.RetainReplicasLabel) != contract.LabelTrue {
		return nil
	}
	replicas, ok := lookupNumber(contentAt(live, "spec"), "replicas")
	if !ok {
		return errors.New("the label " + contract.RetainReplicasLabel + " asks to keep spec.replicas, which the object in the member has not got")
	}
	ensure(desired, "spec")["replicas"] = replicas
	return nil
}

// rolledOut says whether as many replicas as are asked for run the newest revision and
// are available.
func rolledOut(live content) bool {
	status := contentAt(live, "status")
	updated := number(status, "updatedReplicas")
	return observed(live) &&
		updated >= number(contentAt(live, "spec"), "replicas") &&
		number(status, "availableReplicas") >= updated
}

// observed says whether the status is about the newest generation.
func observed(live content) bool {
	return number(contentAt(live, "status"), observedGeneration) == number(contentAt(live, "metadata"), generation)
}
