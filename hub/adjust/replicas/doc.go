// Package replicas lets autoscalers in the members have the say over replicas.
//
//	Reads:     bindings of HorizontalPodAutoscalers and those autoscalers (live), the
//	           metadata of their targets (live); bindings of Deployments, the metadata of
//	           Deployments, those that are written (live).
//	Writes:    the label retain-replicas of templates that a HorizontalPodAutoscaler
//	           scales; spec.replicas of Deployments that carry it, which others write as well:
//	           their authors, and cronscaling at the times of a rule. Events on both.
//	Owns:      the annotation scale-target and the finalizer replicas of the bindings of
//	           HorizontalPodAutoscalers.
//	Invariant: what an autoscaler that goes to members scales carries the label, unless its
//	           author says something else, or nothing says how its replicas are kept. It is
//	           in the namespace of the autoscaler: what is in none is not for those who write
//	           there. A label that the stage did not put on is not taken off, nor is that of an
//	           object which was made anew since the stage marked one of its name.
//	Next:      the agents, which keep the replicas that they find; and for replicas that were
//	           written back the detector and the scheduler.
//
// It is woken by bindings, which the hub has in its cache: autoscalers have one, and so has
// what they scale, if that goes anywhere.
package replicas
