// Package plan decides what to do about one manifest of a Work, and what to tell about
// all of them. It is pure: objects in, a decision with its reason out.
//
// The life of one manifest:
//
//	Parse -> Desired -> See -> Decide --Read---> (look at the member) -> Decide
//	                                  --Skip---> nothing to ask of the member
//	                                  --Apply--> server-side apply -> NewRecord
//	                                  --Wait---> the live object is on its way out
//	                                  --Refuse-> the live object is not ours
//	Condition sums up the outcomes of all manifests of the Work.
package plan
