package native

import (
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"

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
		dependencies: podDependencies("Deployment"),
		replicas:     podTemplateReplicas,
		revise:       reviseField("replicas"),
		retain:       retainReplicas,
		reflect:      status.reflect,
		aggregate:    status.aggregate,
		healthy:      rolledOut,
	}
}

// replicaSet holds also for a ReplicationController, its predecessor.
func replicaSet() rules {
	status := counters{always: []string{"replicas"}, nonzero: []string{"readyReplicas", "availableReplicas"}, generations: true}
	return rules{
		dependencies: podDependencies("ReplicaSet"),
		replicas:     podTemplateReplicas,
		revise:       reviseField("replicas"),
		retain:       retainReplicas,
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
		retain:       retainReplicas,
		reflect:      status.reflect,
		aggregate:    status.aggregate,
		healthy:      statefulSetRolledOut,
	}
}

func daemonSet() rules {
	status := counters{
		always:      []string{"currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady"},
		nonzero:     []string{"updatedNumberScheduled", "numberAvailable", "numberUnavailable"},
		generations: true,
	}
	return rules{
		dependencies: podDependencies("DaemonSet"),
		reflect:      status.reflect,
		aggregate:    status.aggregate,
		healthy: func(live content) bool {
			s := contentAt(live, "status")
			desired, updated := number(s, "desiredNumberScheduled"), number(s, "updatedNumberScheduled")
			if updatedOnDelete(live) {
				updated = desired
			}
			return observed(live) && updated >= desired && number(s, "numberAvailable") >= updated
		},
	}
}

// podTemplateReplicas reads spec.replicas, and the requirements from spec.template.
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
	pod, err := podtemplate.Read(contentAt(spec, "template", "spec"))
	if err != nil {
		return nil, fmt.Errorf("at spec.template.spec: %w", err)
	}
	return podtemplate.Requirements(pod), nil
}

// replicaCount refuses a number that a binding cannot hold.
func replicaCount(n int64) (int32, error) {
	if n < 0 || n > 1<<31-1 {
		return 0, fmt.Errorf("%d is not a number of replicas", n)
	}
	return int32(n), nil
}

// reviseField returns a rule that sets a field of the spec if it exists: a template that leaves the number to
// somebody else continues to.
func reviseField(field string) func(content, int32) error {
	return func(obj content, replicas int32) error {
		if _, ok := lookupNumber(contentAt(obj, "spec"), field); ok {
			own(obj, "spec")[field] = int64(replicas)
		}
		return nil
	}
}

// retainReplicas retains the member's number of replicas if the template is labelled so: an autoscaler in the member
// controls it.
func retainReplicas(desired, live content) error {
	if labelOf(desired, contract.RetainReplicasLabel) != contract.LabelTrue {
		return nil
	}
	replicas, ok := lookupNumber(contentAt(live, "spec"), "replicas")
	if !ok {
		return errors.New("the label " + contract.RetainReplicasLabel + " asks to keep spec.replicas, which the object in the member has not got")
	}
	own(desired, "spec")["replicas"] = replicas
	return nil
}

// rolledOut returns whether the desired number of replicas run the latest revision and are available, and none of an
// older revision is left: that one might be the only available replica.
func rolledOut(live content) bool {
	status := contentAt(live, "status")
	updated := number(status, "updatedReplicas")
	return observed(live) &&
		updated >= number(contentAt(live, "spec"), "replicas") &&
		number(status, "replicas") <= updated &&
		number(status, "availableReplicas") >= updated
}

// statefulSetRolledOut is rolledOut, except for replicas that keep their revision: those below the partition, and
// with OnDelete all that nobody has deleted. They must be available all the same.
func statefulSetRolledOut(live content) bool {
	spec, status := contentAt(live, "spec"), contentAt(live, "status")
	replicas, updated := number(spec, "replicas"), number(status, "updatedReplicas")
	toUpdate := replicas - number(contentAt(spec, "updateStrategy", "rollingUpdate"), "partition")
	if updatedOnDelete(live) {
		toUpdate = 0
	}
	return observed(live) && updated >= toUpdate && number(status, "availableReplicas") >= max(replicas, updated)
}

// updatedOnDelete returns whether pods keep their revision until somebody deletes them.
func updatedOnDelete(live content) bool {
	return text(contentAt(live, "spec", "updateStrategy"), "type") == string(appsv1.OnDeleteStatefulSetStrategyType)
}

// observed returns whether the status is about the latest generation.
func observed(live content) bool {
	return number(contentAt(live, "status"), observedGeneration) == number(contentAt(live, "metadata"), generation)
}
