package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// runsFor is how long a new agent has to run before it has proved itself; if half of spec.agent.reportWithin is less,
// that counts.
const runsFor = 30 * time.Second

// Decide returns the guard's next step. An upgrade in progress is finished before another one begins.
func Decide(in Input) Step {
	switch {
	case in.Record != nil && in.Record.Phase == clusterv1alpha1.AgentUpgrading:
		return underWay(in)
	case in.Request == nil, in.Record.About(in.Request.Image, in.Request.Attempt), in.Record.After(in.Request.Attempt):
		return Step{Done: true}
	default:
		return begin(in)
	}
}

// underWay decides about an upgrade in progress.
func underWay(in Input) Step {
	next := *in.Record
	switch {
	case in.Image != next.Image:
		next.Phase = clusterv1alpha1.AgentRolledBack
		next.Message = fmt.Sprintf("somebody in the member changed the image to %s during the upgrade; that image stays", in.Image)
		return Step{Record: &next}
	case in.Reported == next.Start:
		next.Phase = clusterv1alpha1.AgentUpgraded
		next.Message = "upgraded from " + next.Previous
		return Step{Record: &next}
	case in.Now.Before(next.Deadline):
		return Step{}
	}
	next.Phase = clusterv1alpha1.AgentRolledBack
	next.Message = fmt.Sprintf("the hub received no heartbeat of it within %s, so %s runs again", next.Within, next.Previous)
	if in.Trouble != "" {
		next.Message += ": " + in.Trouble
	}
	return Step{Record: &next, Image: next.Previous, Start: next.Start + "-back"}
}

// begin decides about a request that has not been tried.
func begin(in Input) Step {
	next := &Record{Image: in.Request.Image, Attempt: in.Request.Attempt}
	switch {
	case !Allows(in.Allowed, next.Image):
		next.Phase = clusterv1alpha1.AgentRefused
		next.Message = fmt.Sprintf("the owner of the member allows images of %s only; `agent join --install --upgrade-images` there changes that", strings.Join(in.Allowed, ", "))
		return Step{Record: next}
	case in.Image == next.Image:
		next.Phase, next.Message = clusterv1alpha1.AgentUpgraded, "it ran already"
		return Step{Record: next}
	}
	sum := sha256.Sum256(fmt.Append(nil, next.Image, next.Attempt, in.Now.UnixNano()))
	next.Phase, next.Previous, next.Start = clusterv1alpha1.AgentUpgrading, in.Image, hex.EncodeToString(sum[:5])
	next.Within, next.Deadline = in.Request.ReportWithin, in.Now.Add(in.Request.ReportWithin)
	return Step{Record: next, Image: next.Image, Start: next.Start}
}

// ProvesAfter returns how long a new agent runs before it reports its start, which counts as the proof that it works:
// an agent may well reach the hub once and crash on its first Work.
func ProvesAfter(record *Record, start string) time.Duration {
	if record == nil || record.Phase != clusterv1alpha1.AgentUpgrading || record.Start != start {
		return 0 // no guard waits for it
	}
	return min(runsFor, record.Within/2)
}

// Repository returns an image without its tag and digest.
func Repository(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if colon := strings.LastIndexByte(image, ':'); colon > strings.LastIndexByte(image, '/') {
		image = image[:colon]
	}
	return image
}

// Allows returns whether an image is from one of the repositories: from one of exactly that name or, if the entry
// ends with a slash, from any below it.
func Allows(repositories []string, image string) bool {
	of := Repository(image)
	return slices.ContainsFunc(repositories, func(allowed string) bool {
		return allowed != "" && (of == allowed || strings.HasSuffix(allowed, "/") && strings.HasPrefix(of, allowed) && !strings.Contains(of, ".."))
	})
}
