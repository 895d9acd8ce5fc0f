PRAGMA page_size=512;
PRAGMA application_id=1953853027;
PRAGMA user_version=1;
CREATE VIEW lines AS WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM r) SELECT i seq,NULL op,NULL target,'trial' kind,'{}' line FROM r;
