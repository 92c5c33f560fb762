package decide

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/common/contract"
)

// Decide places an application. It always leaves the clusters that its namespace does not allow, whatever the outcome. If it fits only into
// clusters in which it recently failed, it goes there rather than nowhere.
func Decide(in Input) Decision {
	in.Clusters = in.Memo.sort(in.Clusters)
	left := NotAllowed(in)
	in.Spec, in.Past = leaving(in.Spec, in.Past, left)
	d := decide(in)
	if len(in.FailedIn) > 0 && d.Outcome != Keep && d.Outcome != Scheduled && d.Outcome != Refused {
		in.FailedIn = nil
		if again := decide(in); again.Outcome == Scheduled {
			d = again
		}
	}
	d.Leave = append(left, d.Leave...)
	slices.SortFunc(d.Leave, func(a, b Departure) int { return strings.Compare(a.Cluster, b.Cluster) })
	d.Message = strings.TrimSpace(d.Message + " " + leftOut(in, d))
	d.NotPreferred = notPreferred(in, d)
	d.AdmittedRequests = admit(in, d)
	d.Pending = pending(in, d)
	d.Answered = answered(in, d)
	return d
}

func decide(in Input) Decision {
	d := Decision{Targets: in.Spec.Clusters, Affinity: in.ObservedAffinity}
	refuse := func(format string, args ...any) Decision {
		d.Outcome, d.Message = Refused, fmt.Sprintf(format, args...)
		return d
	}
	if message := in.Allowance.Unusable(in.Clusters); message != "" {
		return refuse("%s", message)
	}
	if message := contradiction(in.Spec); message != "" {
		return refuse("%s", message)
	}
	placement, err := json.Marshal(in.Spec.Placement)
	if err != nil {
		return refuse("The placement cannot be encoded: %v.", err)
	}
	if len(placement) > maxPlacement {
		return refuse("The placement takes %d bytes as JSON, and may take %d: select clusters by labels in the policy, or name fewer.", len(placement), maxPlacement)
	}
	if tooManyRequests(in) {
		return refuse("The requests of the application take more than %d bytes as JSON, too many to check against its quota: let it request fewer resources.",
			contract.MaxAdmittedRequests)
	}
	in.placement = string(placement)
	d.Placement = applied(in.placement)
	in.Spec = withDefaults(in.Spec)
	in.Spec, in.copies = takeBack(in)
	groups, current, err := compile(in.Spec, in.ObservedAffinity)
	if err != nil {
		return refuse("The placement cannot be used: %v. Correct it in the policy.", err)
	}
	if samePlacement(in.AppliedPlacement, in.placement) {
		current = inUse(in, groups, current)
	}
	d.Trigger = trigger(in, in.placement, groups[current])
	if d.Trigger == TriggerNone || d.Trigger == TriggerFollows {
		b, err := planFailback(in, groups, current)
		if err != nil {
			return refuse("The placement cannot be used: %v. Correct it in the policy.", err)
		}
		if b != nil {
			d.FailbackReason = b.why
		}
		if b != nil && in.FailbackDue {
			return d.failBack(in, b)
		}
	}
	if d.Trigger == TriggerNone {
		return d.keep(in, groups[current])
	}
	placed, err := d.place(in, groups, current)
	if err != nil {
		return refuse("The placement cannot be used: %v. Correct it in the policy.", err)
	}
	return placed
}

// failBack moves the application to the preferred clusters.
func (d Decision) failBack(in Input, b *failback) Decision {
	d.Outcome, d.Trigger, d.Attempts = Scheduled, TriggerPreferred, []Attempt{b.attempt}
	d.Targets, d.Leave, d.Affinity = b.targets, b.leave, b.group
	d.Return = returned(d.Targets, in.copies)
	return d
}

// keep keeps the targets. The outcome is OverQuota if they exceed a quota.
func (d Decision) keep(in Input, g group) Decision {
	d.Affinity = g.name
	if d.Message = exceeded(in, in.Spec, in.Spec.Clusters); d.Message != "" {
		d.Outcome = OverQuota
	}
	return d
}

// place tries the groups as order returns them, and takes the first that fits.
func (d Decision) place(in Input, groups []group, current int) (Decision, error) {
	for _, i := range order(len(groups), current, d.Trigger == TriggerRequested || in.Explain && in.ReturnToPreferred, in.ReturnToPreferred) {
		attempt, targets, err := try(in, groups[i], d.Trigger)
		if err != nil {
			return d, err
		}
		d.Attempts = append(d.Attempts, attempt)
		if attempt.Message == "" {
			if i < current && d.Trigger == TriggerFollows {
				d.Trigger = TriggerPreferred
			}
			if d.Message = exceeded(in, in.Spec, targets); d.Message != "" {
				d.Outcome = OverQuota
				return d, nil
			}
			d.Outcome, d.Targets, d.Affinity = Scheduled, targets, groups[i].name
			d.Message = unplaced(in.Spec, targets)
			d.Return = returned(targets, in.copies)
			if d.Trigger == TriggerRequested {
				d.Leave = left(in, groups, targets)
			}
			return d, nil
		}
	}
	return d.fail(), nil
}

// order returns the indexes of the groups in the order in which they are tried. From scratch, they are tried from the first on. Otherwise
// the one in use comes first; the others follow in a circle from the next one on, or, with preferred, from the first one on.
func order(groups, current int, scratch, preferred bool) []int {
	first, next := current, current+1
	if scratch {
		first, next = 0, 1
	} else if preferred {
		next = 0
	}
	out := append(make([]int, 0, groups), first)
	for n := range groups {
		if i := (next + n) % groups; i != first {
			out = append(out, i)
		}
	}
	return out
}

// fail returns the decision if no group fits. The targets are removed only if in no group a cluster passes the filters; the message is then
// that of the first group tried, which matters most. If there is only too little capacity, the targets stay, since capacity may be freed.
func (d Decision) fail() Decision {
	for i := range d.Attempts {
		if a := &d.Attempts[i]; !a.NoFit {
			d.Outcome, d.Message = Unschedulable, a.Message
			return d
		}
	}
	d.Outcome, d.Targets, d.Message = NoClusterFit, nil, d.Attempts[0].Message
	return d
}

// fitError returns the message for clusters none of which passes the filters, with the number of clusters for each reason.
func fitError(clusters int, reasons map[string]int) string {
	if clusters == 0 {
		return "0/0 clusters are available: no cluster exists."
	}
	parts := make([]string, 0, len(reasons))
	for reason, n := range reasons {
		parts = append(parts, fmt.Sprintf("%d %s", n, reason))
	}
	slices.Sort(parts)
	return fmt.Sprintf("0/%d clusters are available: %s.", clusters, strings.Join(parts, ", "))
}
