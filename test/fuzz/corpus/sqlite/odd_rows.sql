PRAGMA page_size=512;
PRAGMA application_id=1953853027;
PRAGMA user_version=1;
CREATE TABLE lines( seq INTEGER PRIMARY KEY, op TEXT, target TEXT, kind TEXT NOT NULL, line TEXT NOT NULL);
CREATE INDEX lines_by_op ON lines(op, target, kind);
INSERT INTO lines VALUES(9223372036854775807,NULL,NULL,'trial',x'7b00');
INSERT INTO lines VALUES(-1,1,2.5,'x','');
