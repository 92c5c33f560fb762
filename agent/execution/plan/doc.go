// Package plan decides what to do about each manifest of a Work, and what to report about all of them. It is pure:
// objects in, a decision with its reason out.
//
// The life of one manifest:
//
//	Parse -> Desired -> See -> Decide --Read---> (read the object from the member) -> Decide
//	                                  --Skip---> no request to the member
//	                                  --Apply--> server-side apply -> NewRecord
//	                                  --Wait---> the live object is being deleted
//	                                  --Refuse-> the live object is not ours
//
// Condition aggregates the outcomes of all manifests of the Work.
package plan
