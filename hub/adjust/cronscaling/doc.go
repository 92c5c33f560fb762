// Package cronscaling does what CronFederatedHPAs say: it sets the replicas of templates at the times that
// their rules name.
//
//	Reads:     CronFederatedHPAs; the scale and the metadata of their targets (live).
//	Writes:    spec.replicas of targets, through their subresource scale, which others write
//	           as well: authors, and stage replicas what autoscalers in members say; the
//	           status of CronFederatedHPAs. Events on them.
//	Owns:      that status.
//	Invariant: a rule is followed once for each of its times, within half a minute of it or not
//	           at all: what a hub that was away has missed is said and not made up for.
//	Next:      the detector and the scheduler, which see that the template wants other replicas.
//
// What is due is decided in package schedule, of the time and of the status alone. So a hub that is killed
// between the two writes sets the same replicas again, if that is still within the half minute.
package cronscaling
