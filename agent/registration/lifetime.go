package registration

import "time"

// The last third of a certificate's life is when it is renewed, but for a third of it at the very end: a hub that does not answer at once
// should not cost the certificate, and a certificate that comes that near to its end was to be renewed and was not. Of 30 days these are
// the last three, of which a hub tells.
const lastPart = 3

// renewalAt returns when a certificate is to be renewed. The share, from 0 to 1, says where in
// the last third of its life, so that agents that joined together do not renew together.
func renewalAt(from, until time.Time, share float64) time.Time {
	begin := until.Add(-until.Sub(from) / lastPart)
	return begin.Add(time.Duration(share * float64(renewalEnd(from, until).Sub(begin))))
}

// renewalEnd returns the latest that renewalAt returns. From then on a certificate was to be renewed and was not.
func renewalEnd(from, until time.Time) time.Time {
	return until.Add(-until.Sub(from) / (lastPart * lastPart))
}

// expired says whether a certificate does not hold any more.
func expired(until, now time.Time) bool { return !now.Before(until) }
