// Package cronscaling executes CronFederatedHPAs: it sets the replicas of templates at the times that their rules name.
//
//	Reads:     CronFederatedHPAs; the scale and the metadata of their targets (live).
//	Writes:    spec.replicas of targets, through the scale subresource, which others write as well: authors,
//	           and the replicas stage on behalf of autoscalers in members; the status of
//	           CronFederatedHPAs. Events on them.
//	Owns:      that status.
//	Invariant: a rule is executed once for each of its times, at most half a minute late or not at all. Times
//	           that went by while no hub worked are reported, and not made up for.
//	Next:      the detector and the scheduler, which see the template's new replicas.
//
// Package schedule decides what is due, from the time and the status alone. A hub that is killed between the two writes
// therefore sets the same replicas again, if that is still within the half minute.
package cronscaling
