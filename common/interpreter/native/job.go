package native

import (
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

// Reasons and messages of a Job's conditions on the hub.
const (
	reasonJobFailed          = "JobFailed"
	messageJobFailed         = "Job executed failed in member clusters "
	reasonJobCompleted       = "Completed"
	messageJobCompleted      = "Job completed"
	reasonCompletionsReached = "CompletionsReached"
	messageSuccessCriteria   = "All member clusters have met success criteria"
)

// timeLater and timeEarlier pick one of two times.
const (
	timeLater   = true
	timeEarlier = false
)

func job() rules {
	status := counters{nonzero: []string{"active", "succeeded", "failed"}}
	return rules{
		dependencies: podDependencies("Job"),
		replicas:     jobReplicas,
		revise:       reviseField("parallelism"),
		retain:       retainJob,
		reflect: func(live content) content {
			out := status.reflect(live)
			for _, field := range []string{"conditions", "startTime", "completionTime"} {
				take(out, contentAt(live, "status"), field)
			}
			return out
		},
		aggregate: aggregateJob,
		healthy:   jobHealthy,
	}
}

func cronJob() rules {
	return rules{
		dependencies: podDependencies("CronJob"),
		aggregate:    aggregateCronJob,
		healthy:      lastRunHealthy,
	}
}

// jobReplicas returns how many pods a Job runs concurrently.
func jobReplicas(template content) (int32, *workv1alpha2.ReplicaRequirements, error) {
	spec := contentAt(template, "spec")
	requirements, err := podTemplateRequirements(spec)
	if err != nil {
		return 0, nil, err
	}
	parallelism := number(spec, "parallelism")
	if completions, ok := lookupNumber(spec, "completions"); ok {
		parallelism = min(parallelism, completions)
	}
	replicas, err := replicaCount(parallelism)
	return replicas, requirements, err
}

// jobHealthy returns whether a Job makes progress: it has not failed and is not about to, and it has been started
// unless it is suspended. A running Job is healthy.
func jobHealthy(live content) bool {
	status := contentAt(live, "status")
	if holds(status, batchv1.JobFailed) || holds(status, batchv1.JobFailureTarget) {
		return false
	}
	return text(status, "startTime") != "" || holds(status, batchv1.JobComplete) || holds(status, batchv1.JobSuspended)
}

// lastRunHealthy returns whether the latest run of a CronJob is active or has succeeded. A CronJob that has not run
// yet is healthy.
func lastRunHealthy(live content) bool {
	status := contentAt(live, "status")
	scheduled, succeeded := text(status, "lastScheduleTime"), text(status, "lastSuccessfulTime")
	return scheduled == "" || len(list(status, "active")) > 0 || succeeded != "" && chooseTime(scheduled, succeeded, timeLater) == succeeded
}

// retainJob retains generated, immutable fields of the member's Job.
func retainJob(desired, live content) error {
	if labels := contentAt(live, "spec", "selector", "matchLabels"); labels != nil {
		take(own(desired, "spec", "selector"), contentAt(live, "spec", "selector"), "matchLabels")
	}
	if labels := contentAt(live, "spec", "template", "metadata", "labels"); labels != nil {
		take(own(desired, "spec", "template", "metadata"), contentAt(live, "spec", "template", "metadata"), "labels")
	}
	return nil
}

// aggregateJob adds up the counters and determines whether the whole Job is finished.
//
// It complies with the API server's validation: a finished Job has no active pods, has a start time, and has
// FailureTarget before it is Failed or SuccessCriteriaMet before it is Complete; only a Complete one has a completion
// time; and the counts of failed and succeeded pods never decrease, not even when a cluster is removed.
func aggregateJob(template content, items []item) error {
	status := contentAt(template, "status")
	if holds(status, batchv1.JobComplete) || holds(status, batchv1.JobFailed) {
		return nil
	}
	active, succeeded, failed := sumOf(items, "active"), sumOf(items, "succeeded"), sumOf(items, "failed")
	var failedIn []string
	complete := len(items) > 0
	for _, it := range items {
		if holds(it.status, batchv1.JobFailed) {
			failedIn = append(failedIn, it.cluster)
		}
		complete = complete && holds(it.status, batchv1.JobComplete)
	}
	setCounter(status, "active", active)
	setCounter(status, "succeeded", notBack(succeeded, number(status, "succeeded")))
	setCounter(status, "failed", notBack(failed, number(status, "failed")))

	started := pick(items, "startTime", timeEarlier)
	if text(status, "startTime") == "" && started.all {
		status["startTime"] = started.time
	}
	doomed := holding(status, batchv1.JobFailureTarget)
	switch {
	case len(failedIn) > 0 || doomed != nil:
		failure := content{"reason": reasonJobFailed, "message": messageJobFailed + strings.Join(failedIn, ",")}
		if len(failedIn) == 0 {
			failure = doomed
		}
		conditions := []batchv1.JobConditionType{batchv1.JobFailureTarget}
		if active == 0 && (text(status, "startTime") != "" || started.time != "") {
			if text(status, "startTime") == "" {
				status["startTime"] = started.time
			}
			conditions = append(conditions, batchv1.JobFailed)
		}
		setConditions(status, conditions, text(failure, "reason"), text(failure, "message"), items, batchv1.JobFailed)
	case complete && active == 0:
		completed := pick(items, "completionTime", timeLater)
		if completed.time == "" || text(status, "startTime") == "" {
			return nil // the members have not reported the times yet
		}
		status["completionTime"] = completed.time
		setConditions(status, []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet}, reasonCompletionsReached, messageSuccessCriteria, items, batchv1.JobComplete)
		met := list(status, "conditions")
		setConditions(status, []batchv1.JobConditionType{batchv1.JobComplete}, reasonJobCompleted, messageJobCompleted, items, batchv1.JobComplete)
		setList(status, "conditions", append(met, list(status, "conditions")...))
	default:
		delete(status, "conditions")
	}
	return nil
}

// notBack returns a sum, or the previous value if that is larger. An invalid sum is returned as it is, to be refused.
func notBack(sum, before int64) int64 {
	if sum < 0 {
		return sum
	}
	return max(sum, before)
}

// setConditions sets the conditions of a status. An equal condition is left unchanged; a new one gets the latest
// transition time of the condition like in the members.
func setConditions(status content, types []batchv1.JobConditionType, reason, message string, items []item, like batchv1.JobConditionType) {
	var since string
	for _, it := range items {
		if at := text(holding(it.status, like), "lastTransitionTime"); at != "" {
			since = chooseTime(since, at, timeLater)
		}
	}
	out := make([]content, 0, len(types))
	for _, t := range types {
		if have := holding(status, t); text(have, "reason") == reason && text(have, "message") == message && have != nil {
			out = append(out, have)
			continue
		}
		c := content{"type": string(t), "status": "True", "reason": reason, "message": message}
		if since != "" {
			c["lastProbeTime"], c["lastTransitionTime"] = since, since
		}
		out = append(out, c)
	}
	setList(status, "conditions", out)
}

// picked is the earliest or latest of the times that clusters report.
type picked struct {
	// time is empty if no cluster reports one.
	time string
	// all says that there are clusters and each of them reports a time.
	all bool
}

func pick(items []item, field string, later bool) picked {
	out := picked{all: len(items) > 0}
	for _, it := range items {
		at := text(it.status, field)
		if at == "" {
			out.all = false
			continue
		}
		out.time = chooseTime(out.time, at, later)
	}
	return out
}

// chooseTime returns the earlier or later of two times; an invalid one loses.
func chooseTime(a, b string, later bool) string {
	timeA, errA := time.Parse(time.RFC3339, a)
	timeB, errB := time.Parse(time.RFC3339, b)
	switch {
	case errB != nil && errA != nil:
		return ""
	case errB != nil:
		return a
	case errA != nil:
		return b
	case timeB.After(timeA) == later:
		return b
	default:
		return a
	}
}

func aggregateCronJob(template content, items []item) error {
	status := contentAt(template, "status")
	var active []content
	for _, it := range items {
		active = slices.Concat(active, list(it.status, "active"))
	}
	setList(status, "active", active)
	for _, field := range []string{"lastScheduleTime", "lastSuccessfulTime"} {
		if latest := pick(items, field, timeLater).time; latest != "" {
			status[field] = latest
		}
	}
	return nil
}
