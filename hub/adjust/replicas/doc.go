// Package replicas lets autoscalers in the members decide about replicas.
//
//	Reads:     bindings of HorizontalPodAutoscalers and those autoscalers (live), the metadata of their
//	           targets (live); bindings of Deployments, the metadata of Deployments, and the Deployments
//	           that are written (live).
//	Writes:    the label retain-replicas of templates that a HorizontalPodAutoscaler scales; spec.replicas
//	           of Deployments with that label, which others write as well: their authors, and cronscaling
//	           at the times of a rule. Events on both.
//	Owns:      the annotation scale-target and the finalizer replicas of the bindings of
//	           HorizontalPodAutoscalers.
//	Invariant: the target of an autoscaler that is propagated to members has the label, unless its author set
//	           the label otherwise, or the interpreter cannot retain the replicas of its kind. The target is
//	           in the autoscaler's namespace: who may write in a namespace must not change cluster-scoped
//	           objects. The stage removes no label that it did not add, nor that of an object that was
//	           created again since the stage labelled one of its name.
//	Next:      the agents, which retain the replicas that they find; and, for replicas that were written
//	           back, the detector and the scheduler.
//
// The stage watches bindings, which the hub caches anyway: autoscalers have one, and so do their targets if they are
// propagated.
package replicas
