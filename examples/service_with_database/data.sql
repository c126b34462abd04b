DELETE FROM refunds;
DELETE FROM bookings;
INSERT INTO bookings (id, guest, room, arrival, nights, price, refundable, status) VALUES
  ('BK-1', 'Ann Berg', 12, '2026-12-10', 3, 360.00, 80, 'open'),
  ('BK-2', 'Ann Berg', 14, '2027-02-01', 2, 190.00, 50, 'open'),
  ('BK-3', 'Jo Lind', 12, '2026-11-20', 4, 480.00, 0, 'checked in');
