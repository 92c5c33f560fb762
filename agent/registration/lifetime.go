package registration

import "time"

// A certificate is renewed during the last third of its life, but not in the last third of that: a hub that does not
// answer at once should not cost the certificate, and one that gets closer to its expiry has missed its renewal. Of
// 30 days these are the last three, about which the hub warns.
const lastPart = 3

// renewalAt returns when a certificate is to be renewed. share, from 0 to 1, picks the point in that period, so that
// agents that joined together do not renew together.
func renewalAt(from, until time.Time, share float64) time.Time {
	begin := until.Add(-until.Sub(from) / lastPart)
	return begin.Add(time.Duration(share * float64(renewalEnd(from, until).Sub(begin))))
}

// renewalEnd returns the latest result of renewalAt. After that, a certificate has missed its renewal.
func renewalEnd(from, until time.Time) time.Time {
	return until.Add(-until.Sub(from) / (lastPart * lastPart))
}

// expired returns whether a certificate has expired.
func expired(until, now time.Time) bool { return !now.Before(until) }
